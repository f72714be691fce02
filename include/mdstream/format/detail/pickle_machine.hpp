#pragma once

/// The stack machine of Python pickles, with the instructions that make plain data.

#include <mdstream/core/bytes.hpp>
#include <mdstream/format/detail/pickle_numpy.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

class pickle_machine {
 public:
  explicit pickle_machine(bytes_view pickle) : text_(as_text(pickle)) {}

  [[nodiscard]] const pickle_node& node(std::uint32_t at) const { return nodes_[at]; }

  /// Runs to the end and returns the result's number.
  [[nodiscard]] std::uint32_t run();

 private:
  void step(unsigned char op);

  void step_container(unsigned char op);

  void step_stack(unsigned char op);

  // --- input ----------------------------------------------------------------------------------

  [[noreturn]] void fail(std::string what) const;

  std::string_view take(std::uint64_t size);

  std::string_view take_line();

  std::uint64_t unsigned_of(std::size_t bytes);

  double big_endian_double();

  void check_protocol();

  // --- stack ----------------------------------------------------------------------------------

  void push(pickle_node made);
  void push_integer(std::string digits) {
    push({.type = pickle_kind::integer, .text = std::move(digits)});
  }
  void push_text(std::string_view text);
  void push_bytes(std::string_view bytes) {
    push({.type = pickle_kind::bytes, .text = std::string(bytes)});
  }
  void push_callable(std::string_view module, std::string_view name);
  void push_items(pickle_kind type, std::vector<std::uint32_t> items);

  [[nodiscard]] std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  [[nodiscard]] std::uint32_t top() const;
  std::uint32_t pop();
  std::vector<std::uint32_t> pop_many(std::size_t count);
  std::vector<std::uint32_t> pop_to_mark();

  void extend(pickle_kind type, const std::vector<std::uint32_t>& items);

  [[nodiscard]] std::uint32_t recall(std::uint64_t number) const;

  [[nodiscard]] const std::string& text_of(std::uint32_t at) const;

  // --- callables ------------------------------------------------------------------------------

  void reduce();

  /// Calls copy their arguments: many calls on one large argument would take memory without end.
  void pay(const pickle_node& made);

  void build();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t op_at_ = 0;
  std::size_t copied_ = 0;
  std::vector<pickle_node> nodes_;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, std::uint32_t> memo_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/pickle_machine.ipp>
#endif
