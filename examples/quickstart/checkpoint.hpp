#pragma once

/// All that a run needs to go on elsewhere, as one object in the store: the model, the optimizer's
/// moments, the loader's state. It is there whole or not at all.

#include <mdstream/core/bytes.hpp>

#include "training.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace quickstart {

namespace detail {

class packer {
 public:
  template <class T>
  void add(const std::vector<T>& values) {
    add_bytes(values.data(), values.size() * sizeof(T));
  }
  void add(const std::string& text) { add_bytes(text.data(), text.size()); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void add_bytes(const void* data, std::size_t size) {
    const auto append = [this](const void* from, std::size_t count) {
      const auto* const first = static_cast<const std::byte*>(from);
      bytes_.insert(bytes_.end(), first, first + count);
    };
    const std::uint64_t length = size;
    append(&length, sizeof length);
    append(data, size);
  }

  std::vector<std::byte> bytes_;
};

class unpacker {
 public:
  explicit unpacker(mdstream::bytes_view bytes) : rest_(bytes) {}

  /// Fills values whose number is known: another model's file is refused.
  template <class T>
  void take(std::vector<T>& values, std::string_view what) {
    const auto part = next();
    if (part.size() != values.size() * sizeof(T)) {
      throw std::runtime_error("the checkpoint holds " + std::to_string(part.size()) +
                               " bytes of " + std::string(what) + ", this run " +
                               std::to_string(values.size() * sizeof(T)));
    }
    std::memcpy(values.data(), part.data(), part.size());
  }
  [[nodiscard]] std::string text() {
    const auto part = next();
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

 private:
  mdstream::bytes_view next() {
    std::uint64_t length = 0;
    if (rest_.size() < sizeof length) throw std::runtime_error("the checkpoint is cut short");
    std::memcpy(&length, rest_.data(), sizeof length);
    rest_ = rest_.subspan(sizeof length);
    if (rest_.size() < length) throw std::runtime_error("the checkpoint is cut short");
    const auto part = rest_.first(length);
    rest_ = rest_.subspan(length);
    return part;
  }

  mdstream::bytes_view rest_;
};

}  // namespace detail

struct checkpoint {
  std::uint64_t step = 0;  // steps that were done
  std::string loader_state;
};

template <class Exchange>
[[nodiscard]] std::vector<std::byte> pack(const checkpoint& now, trainer<Exchange>& training) {
  detail::packer out;
  out.add(std::vector<std::uint64_t>{now.step});
  out.add(now.loader_state);
  out.add(training.parameters());
  out.add(training.optimizer().mean());
  out.add(training.optimizer().square());
  return out.bytes();
}

/// Puts a checkpoint's model into `training`. Throws std::runtime_error where it does not fit.
template <class Exchange>
[[nodiscard]] checkpoint unpack(mdstream::bytes_view bytes, trainer<Exchange>& training) {
  detail::unpacker in(bytes);
  std::vector<std::uint64_t> step(1);
  in.take(step, "step");
  checkpoint then{.step = step[0], .loader_state = in.text()};
  in.take(training.parameters(), "parameters");
  in.take(training.optimizer().mean(), "means");
  in.take(training.optimizer().square(), "squares");
  return then;
}

}  // namespace quickstart
