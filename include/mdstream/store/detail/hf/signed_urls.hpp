#pragma once

/// URLs that let in by themselves for a while, kept for more reads of the same bytes.

#include <mdstream/net/time_text.hpp>

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::detail::hf {

/// When the signature of a URL ends, by the signer's clock: S3's (`X-Amz-Date` and
/// `X-Amz-Expires`), or CloudFront's (`Expires`, or `DateLessThan` of `Policy`). Nothing for all
/// other URLs.
[[nodiscard]] std::optional<net::wall_clock::time_point> end_of_signature(std::string_view url);

/// Signed URLs by what they were asked for with. Bounded: of too many that go which end first.
/// Thread-safe.
class signed_urls {
 public:
  static constexpr std::size_t most = 256;

  void keep(const std::string& of, std::string url, net::wall_clock::time_point until);

  /// One that serves at `now`.
  [[nodiscard]] std::optional<std::string> find(const std::string& of,
                                                net::wall_clock::time_point now) const;

  /// For a URL that has failed.
  void forget(std::string_view url);

 private:
  struct entry {
    std::string url;
    net::wall_clock::time_point until;
  };

  mutable std::mutex mutex_;
  std::map<std::string, entry> kept_;
};

}  // namespace mdstream::inline v0::detail::hf

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/hf/signed_urls.ipp>
#endif
