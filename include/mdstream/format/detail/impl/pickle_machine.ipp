#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/detail/pickle_machine.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::uint32_t pickle_machine::run() {
  if (text_.size() < 2 || text_[0] != '\x80') fail("not a pickle of protocol 2 or later");
  while (true) {
    op_at_ = at_;
    const auto op = static_cast<unsigned char>(take(1)[0]);
    if (op == '.') {
      const std::uint32_t result = pop();
      if (!stack_.empty()) fail("values are left over at the end");
      return result;
    }
    step(op);
  }
}

MDSTREAM_INLINE void pickle_machine::step(unsigned char op) {
  switch (op) {
    case 0x80: check_protocol(); return;
    case 0x95: (void)take(8); return;  // a frame's size is of no use here
    case 'N': push({.type = pickle_kind::none}); return;
    case 0x88: push({.type = pickle_kind::boolean, .flag = true}); return;
    case 0x89: push({.type = pickle_kind::boolean}); return;
    case 'K': push_integer(std::to_string(unsigned_of(1))); return;
    case 'M': push_integer(std::to_string(unsigned_of(2))); return;
    case 'J': push_integer(std::to_string(static_cast<std::int32_t>(unsigned_of(4)))); return;
    case 0x8A: push_integer(long_digits(take(unsigned_of(1)))); return;
    case 0x8B: push_integer(long_digits(take(unsigned_of(4)))); return;
    case 'G': push({.type = pickle_kind::real, .number = big_endian_double()}); return;
    case 'X': push_text(take(unsigned_of(4))); return;
    case 0x8C: push_text(take(unsigned_of(1))); return;
    case 0x8D: push_text(take(unsigned_of(8))); return;
    case 'C': push_bytes(take(unsigned_of(1))); return;
    case 'B': push_bytes(take(unsigned_of(4))); return;
    case 0x8E:
    case 0x96: push_bytes(take(unsigned_of(8))); return;
    default: step_container(op);
  }
}

MDSTREAM_INLINE void pickle_machine::step_container(unsigned char op) {
  switch (op) {
    case '(': marks_.push_back(stack_.size()); return;
    case ']': push({.type = pickle_kind::list}); return;
    case ')': push({.type = pickle_kind::tuple}); return;
    case '}': push({.type = pickle_kind::dict}); return;
    case 0x8F: push({.type = pickle_kind::set}); return;
    case 'l': push_items(pickle_kind::list, pop_to_mark()); return;
    case 't': push_items(pickle_kind::tuple, pop_to_mark()); return;
    case 'd': push_items(pickle_kind::dict, pop_to_mark()); return;
    case 0x91: push_items(pickle_kind::set, pop_to_mark()); return;
    case 0x85:
    case 0x86:
    case 0x87: push_items(pickle_kind::tuple, pop_many(op - 0x84U)); return;
    case 'a': extend(pickle_kind::list, pop_many(1)); return;
    case 'e': extend(pickle_kind::list, pop_to_mark()); return;
    case 's': extend(pickle_kind::dict, pop_many(2)); return;
    case 'u': extend(pickle_kind::dict, pop_to_mark()); return;
    case 0x90: extend(pickle_kind::set, pop_to_mark()); return;
    default: step_stack(op);
  }
}

MDSTREAM_INLINE void pickle_machine::step_stack(unsigned char op) {
  switch (op) {
    case '0': (void)pop(); return;
    case '1': (void)pop_to_mark(); return;
    case '2': stack_.push_back(top()); return;
    case 0x94: memo_[memo_.size()] = top(); return;
    case 'q': memo_[unsigned_of(1)] = top(); return;
    case 'r': memo_[unsigned_of(4)] = top(); return;
    case 'h': stack_.push_back(recall(unsigned_of(1))); return;
    case 'j': stack_.push_back(recall(unsigned_of(4))); return;
    case 'c': {
      const std::string_view module = take_line();
      push_callable(module, take_line());
      return;
    }
    case 0x93: {
      const std::uint32_t name = pop();
      const std::uint32_t module = pop();
      push_callable(text_of(module), text_of(name));
      return;
    }
    case 'R': reduce(); return;
    case 'b': build(); return;
    default:
      throw error(errc::unsupported,
                  diagnostics{.what = "a pickle uses instruction " + std::to_string(op) +
                                      ", which plain data do not need",
                              .byte = op_at_});
  }
}

MDSTREAM_INLINE void pickle_machine::fail(std::string what) const {
  throw error(errc::corrupt, diagnostics{.what = "a pickle: " + std::move(what), .byte = op_at_});
}

MDSTREAM_INLINE std::string_view pickle_machine::take(std::uint64_t size) {
  if (size > text_.size() - at_) fail("it is cut short");
  const std::string_view out = text_.substr(at_, static_cast<std::size_t>(size));
  at_ += out.size();
  return out;
}

MDSTREAM_INLINE std::string_view pickle_machine::take_line() {
  const std::size_t end = text_.find('\n', at_);
  if (end == std::string_view::npos) fail("it is cut short");
  const std::string_view out = take(end - at_);
  (void)take(1);
  return out;
}

MDSTREAM_INLINE std::uint64_t pickle_machine::unsigned_of(std::size_t bytes) {
  std::uint64_t value = 0;
  const std::string_view digits = take(bytes);
  std::memcpy(&value, digits.data(), bytes);
  return value;
}

MDSTREAM_INLINE double pickle_machine::big_endian_double() {
  std::uint64_t bits = __builtin_bswap64(unsigned_of(8));
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

MDSTREAM_INLINE void pickle_machine::check_protocol() {
  const std::uint64_t protocol = unsigned_of(1);
  if (protocol < 2 || protocol > 5)
    throw error(errc::unsupported,
                "pickle protocol " + std::to_string(protocol) + "; 2 to 5 are read");
}

MDSTREAM_INLINE void pickle_machine::push(pickle_node made) {
  nodes_.push_back(std::move(made));
  stack_.push_back(static_cast<std::uint32_t>(nodes_.size() - 1));
}

MDSTREAM_INLINE void pickle_machine::push_text(std::string_view text) {
  if (first_invalid_utf8(text, true) != text.size()) fail("a text is not UTF-8");
  push({.type = pickle_kind::text, .text = std::string(text)});
}

MDSTREAM_INLINE void pickle_machine::push_callable(std::string_view module, std::string_view name) {
  push({.type = pickle_kind::callable, .text = std::string(module) + '.' + std::string(name)});
}

MDSTREAM_INLINE void pickle_machine::push_items(pickle_kind type,
                                                std::vector<std::uint32_t> items) {
  if (type == pickle_kind::dict && items.size() % 2 != 0) fail("a dict has a key without value");
  push({.type = type, .items = std::move(items)});
}

MDSTREAM_INLINE std::uint32_t pickle_machine::top() const {
  if (stack_.size() <= floor()) fail("a value is missing");
  return stack_.back();
}

MDSTREAM_INLINE std::uint32_t pickle_machine::pop() {
  const std::uint32_t out = top();
  stack_.pop_back();
  return out;
}

MDSTREAM_INLINE std::vector<std::uint32_t> pickle_machine::pop_many(std::size_t count) {
  if (stack_.size() - floor() < count) fail("a value is missing");
  std::vector<std::uint32_t> out(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
  stack_.resize(stack_.size() - count);
  return out;
}

MDSTREAM_INLINE std::vector<std::uint32_t> pickle_machine::pop_to_mark() {
  if (marks_.empty()) fail("a mark is missing");
  std::vector<std::uint32_t> out = pop_many(stack_.size() - floor());
  marks_.pop_back();
  return out;
}

MDSTREAM_INLINE void pickle_machine::extend(pickle_kind type,
                                            const std::vector<std::uint32_t>& items) {
  pickle_node& container = nodes_[top()];
  if (container.type != type) fail("items for a value that is no container of them");
  if (type == pickle_kind::dict && items.size() % 2 != 0) fail("a dict has a key without value");
  container.items.insert(container.items.end(), items.begin(), items.end());
}

MDSTREAM_INLINE std::uint32_t pickle_machine::recall(std::uint64_t number) const {
  const auto found = memo_.find(number);
  if (found == memo_.end()) fail("it recalls what it has not kept");
  return found->second;
}

MDSTREAM_INLINE const std::string& pickle_machine::text_of(std::uint32_t at) const {
  if (nodes_[at].type != pickle_kind::text) fail("a name is no text");
  return nodes_[at].text;
}

MDSTREAM_INLINE void pickle_machine::reduce() {
  const std::uint32_t arguments = pop();
  const std::uint32_t callable = pop();
  if (nodes_[callable].type != pickle_kind::callable ||
      nodes_[arguments].type != pickle_kind::tuple)
    fail("it calls what can not be called");
  std::vector<const pickle_node*> values;
  for (const std::uint32_t item : nodes_[arguments].items) values.push_back(&nodes_[item]);
  pickle_node made = call_plain(nodes_[callable].text, values, nodes_);
  pay(made);
  push(std::move(made));
}

MDSTREAM_INLINE void pickle_machine::pay(const pickle_node& made) {
  copied_ += made.text.size() + 4 * made.items.size();
  if (copied_ > 64 * text_.size() + 4096)
    throw error(errc::unsupported, "a pickle repeats itself too often");
}

MDSTREAM_INLINE void pickle_machine::build() {
  const std::uint32_t state = pop();
  if (nodes_[state].type != pickle_kind::tuple) fail("a state is no tuple");
  std::vector<const pickle_node*> values;
  for (const std::uint32_t item : nodes_[state].items) values.push_back(&nodes_[item]);
  pickle_node changed = nodes_[top()];
  set_numpy_state(changed, values, nodes_);
  pay(changed);
  nodes_[top()] = std::move(changed);
}

}  // namespace mdstream::inline v0::detail
