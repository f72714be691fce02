#pragma once

/// Hashes of shard files: names, digests, and the choice of one by the name in the index.

#include <mdstream/core/bytes.hpp>

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace mdstream::inline v0 {

/// A name that the index may hold, and the bytes of its digest.
struct hash_name {
  std::string_view name;
  std::size_t digest_bytes;
};

/// All hashes of the format, sorted by name.
inline constexpr std::array<hash_name, 17> hash_names{{{"blake2b", 64},
                                                       {"blake2s", 32},
                                                       {"md5", 16},
                                                       {"sha1", 20},
                                                       {"sha224", 28},
                                                       {"sha256", 32},
                                                       {"sha384", 48},
                                                       {"sha3_224", 28},
                                                       {"sha3_256", 32},
                                                       {"sha3_384", 48},
                                                       {"sha3_512", 64},
                                                       {"sha512", 64},
                                                       {"xxh128", 16},
                                                       {"xxh32", 4},
                                                       {"xxh3_128", 16},
                                                       {"xxh3_64", 8},
                                                       {"xxh64", 8}}};

namespace detail {

/// In the index of a stream of foreign files: no hash of a shard's bytes, but of what it is made
/// of.
inline constexpr std::string_view source_digest = "source";

}  // namespace detail

/// The bytes of the digest of the hash of that name, or nothing if the format knows no such hash.
[[nodiscard]] constexpr std::optional<std::size_t> digest_bytes(std::string_view name) noexcept {
  if (name == detail::source_digest) return 16;
  for (const hash_name& known : hash_names)
    if (known.name == name) return known.digest_bytes;
  return std::nullopt;
}

/// A hash that can stand in the policies' member `hash`: a computation in progress. Copies are
/// independent; one object is for one thread at a time.
///
/// - `H::serves(name)`: whether this type computes the hash of that name.
/// - `H::open(name)`: a computation over no bytes yet; throws errc::unsupported.
/// - `hash.update(bytes)`: adds bytes.
/// - `hash.hex()`: the digest of all bytes added, as the index has it.
///
///     static_assert(mds::hash_policy<crc>);  // beside a hash of your own
template <class H>
concept hash_policy =
    std::copyable<H> && requires(H hash, const H done, std::string_view name, bytes_view bytes) {
      { H::serves(name) } -> std::same_as<bool>;
      { H::open(name) } -> std::same_as<H>;
      hash.update(bytes);
      { done.hex() } -> std::same_as<std::string>;
    };

namespace detail {

[[noreturn]] void fail_unknown_hash(std::string_view name, std::string_view served);

}  // namespace detail

/// A hash chosen at run time by name among those of the list, which may be empty.
///
///     using policies = mds::policies<mds::any_hash<mds::hash::xxh64, mds::hash::sha256>>;
template <hash_policy... Hashes>
class any_hash {
 public:
  template <class H>
    requires(std::same_as<H, Hashes> || ...)
  any_hash(H hash) : hash_(std::move(hash)) {}

  [[nodiscard]] static bool serves([[maybe_unused]] std::string_view name) noexcept {
    return (Hashes::serves(name) || ...);
  }

  /// Throws errc::unsupported, naming what the list holds and what to add, if none serves the name.
  [[nodiscard]] static any_hash open(std::string_view name) {
    any_hash out;
    const bool found = ((Hashes::serves(name) && (out.hash_ = Hashes::open(name), true)) || ...);
    if (!found) detail::fail_unknown_hash(name, served());
    return out;
  }

  void update([[maybe_unused]] bytes_view bytes) {
    std::visit(
        [bytes](auto& hash) {
          if constexpr (requires { hash.update(bytes); }) hash.update(bytes);
        },
        hash_);
  }

  [[nodiscard]] std::string hex() const {
    return std::visit(
        [](const auto& hash) {
          if constexpr (requires { hash.hex(); })
            return hash.hex();
          else
            return std::string();
        },
        hash_);
  }

  /// The names that the list serves: "xxh3_64, xxh64".
  [[nodiscard]] static std::string served() {
    std::string out;
    for (const hash_name& known : hash_names)
      if (serves(known.name)) out.append(out.empty() ? "" : ", ").append(known.name);
    return out;
  }

 private:
  any_hash() = default;

  std::variant<std::monostate, Hashes...> hash_;
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/hash/detail/impl/hash.ipp>
#endif
