#pragma once

/// The hashes that a program computes, as a value: those of its policies, and XXH64 whatever they
/// are.

#include <mdstream/core/bytes.hpp>
#include <mdstream/hash/hash.hpp>
#include <mdstream/hash/xxh64.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::detail {

/// A computation in progress. One virtual call a piece. For one thread at a time.
class running_hash {
 public:
  running_hash() = default;
  running_hash(const running_hash&) = delete;
  running_hash& operator=(const running_hash&) = delete;
  virtual ~running_hash() = default;

  virtual void update(bytes_view bytes) = 0;
  /// The digest of all bytes added, as the index has it.
  [[nodiscard]] virtual std::string hex() const = 0;
};

/// Made from a hash policy; two pointers to functions, copied freely.
class hash_set {
 public:
  template <hash_policy H>
  [[nodiscard]] static constexpr hash_set of() noexcept {
    return hash_set([](std::string_view name) { return H::serves(name); },
                    [](std::string_view name) -> std::unique_ptr<running_hash> {
                      return std::make_unique<model<H>>(H::open(name));
                    });
  }

  /// Whether the program computes the hash of that name.
  [[nodiscard]] bool serves(std::string_view name) const {
    return serves_(name) || hash::xxh64::serves(name);
  }
  /// A computation over no bytes yet. Throws errc::unsupported for a hash that the program does
  /// not compute.
  [[nodiscard]] std::unique_ptr<running_hash> open(std::string_view name) const;
  /// Throws as `open` does.
  void require(std::string_view name) const {
    if (!serves(name)) (void)open_(name);
  }
  /// The digest of `bytes`. Throws as `open` does.
  [[nodiscard]] std::string hex_of(std::string_view name, bytes_view bytes) const;

 private:
  using serves_function = bool (*)(std::string_view);
  using open_function = std::unique_ptr<running_hash> (*)(std::string_view);

  template <hash_policy H>
  struct model final : running_hash {
    explicit model(H opened) : hash(std::move(opened)) {}
    void update(bytes_view bytes) override { hash.update(bytes); }
    [[nodiscard]] std::string hex() const override { return hash.hex(); }
    H hash;
  };

  constexpr hash_set(serves_function known, open_function opener) noexcept
      : serves_(known), open_(opener) {}

  serves_function serves_;
  open_function open_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/hash/detail/impl/hash_set.ipp>
#endif
