#pragma once

/// Hashes over bytes as they come.

#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/hash/openssl.hpp>
#include <mdstream/store/detail/digest.hpp>
#include <mdstream/store/detail/file.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cli {

namespace mds = mdstream;

/// Computes what a digest (`mdstream/store/detail/digest.hpp`) says of an object, over the bytes of
/// one.
class running_digest {
 public:
  /// Nothing for a hash that is unknown or not over the bytes in their order. `bytes` are those of
  /// the whole object. Throws `errc::unsupported` where the OpenSSL at hand refuses the hash.
  [[nodiscard]] static std::optional<running_digest> of(std::string_view digest,
                                                        std::uint64_t bytes) {
    const std::size_t colon = digest.find(':');
    const std::string_view name = digest.substr(0, colon);
    running_digest out(std::string(digest.substr(colon + 1)));
    if (name == "crc32c") return out;
    const bool of_git = name == "git-sha1";
    const std::string_view algorithm = of_git ? "sha1" : name;
    if (!mds::any_openssl_hash::serves(algorithm)) return std::nullopt;
    out.hash_ = mds::any_openssl_hash::open(algorithm);
    const std::string head = "blob " + std::to_string(bytes) + '\0';
    if (of_git) out.update(mds::as_bytes(head));
    return out;
  }

  /// The first of several digests that can be computed here.
  [[nodiscard]] static std::optional<running_digest> of_any(std::string_view digests,
                                                            std::uint64_t bytes) {
    for (const std::string_view each : mds::detail::digests_of(digests)) {
      try {
        if (auto one = of(each, bytes)) return one;
      } catch (const mds::error& e) {
        if (e.code() != mds::errc::unsupported) throw;
      }
    }
    return std::nullopt;
  }

  void update(mds::bytes_view bytes) {
    if (hash_) return hash_->update(bytes);
    crc_ = mds::detail::crc32c(bytes, crc_);
  }

  /// Whether what came is what the digest was of.
  [[nodiscard]] bool matches() const {
    return (hash_ ? hash_->hex() : mds::detail::hex_digits(crc_).substr(8)) == expected_;
  }

 private:
  explicit running_digest(std::string expected) : expected_(std::move(expected)) {}

  std::string expected_;
  std::optional<mds::any_openssl_hash> hash_;
  std::uint32_t crc_ = 0;
};

}  // namespace cli
