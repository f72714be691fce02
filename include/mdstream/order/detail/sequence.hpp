#pragma once

/// A finite sequence of sample ids that can be read from any place: what every part of an order is
/// made of.

#include <mdstream/version.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace mdstream::inline v0::detail {

/// A model answers `read(first, out)`: the ids at places first … first + out.size() - 1, which lie
/// below `size()`. Reading may move an internal window, hence is not const; reading forward is the
/// cheap way. A copy reads the same ids on its own.
template <class T>
concept id_sequence =
    std::copyable<T> &&
    requires(T& sequence, const T& constant, std::uint64_t first, std::span<std::int64_t> out) {
      { constant.size() } -> std::same_as<std::uint64_t>;
      { sequence.read(first, out) } -> std::same_as<void>;
    };

/// Any model of `id_sequence`, held by value.
class any_sequence {
 public:
  any_sequence() = default;
  template <class T>
    requires(!std::same_as<std::remove_cvref_t<T>, any_sequence>)
  any_sequence(T sequence)  // implicit: this is how a model becomes a part of another
      : held_(std::make_unique<model<T>>(std::move(sequence))) {
    static_assert(id_sequence<T>, "size() const and read(first, out) are needed, and copying");
  }
  any_sequence(const any_sequence& other) : held_(other.held_ ? other.held_->clone() : nullptr) {}
  any_sequence(any_sequence&&) noexcept = default;
  any_sequence& operator=(any_sequence other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }
  ~any_sequence() = default;

  [[nodiscard]] std::uint64_t size() const { return held_ ? held_->size() : 0; }
  void read(std::uint64_t first, std::span<std::int64_t> out) {
    if (!out.empty()) held_->read(first, out);
  }

 private:
  struct base {
    virtual ~base() = default;
    [[nodiscard]] virtual std::uint64_t size() const = 0;
    virtual void read(std::uint64_t first, std::span<std::int64_t> out) = 0;
    [[nodiscard]] virtual std::unique_ptr<base> clone() const = 0;
  };
  template <class T>
  struct model final : base {
    explicit model(T held) : sequence(std::move(held)) {}
    [[nodiscard]] std::uint64_t size() const override { return sequence.size(); }
    void read(std::uint64_t first, std::span<std::int64_t> out) override {
      sequence.read(first, out);
    }
    [[nodiscard]] std::unique_ptr<base> clone() const override {
      return std::make_unique<model>(sequence);
    }
    T sequence;
  };

  std::unique_ptr<base> held_;
};

}  // namespace mdstream::inline v0::detail
