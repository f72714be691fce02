#pragma once

/// Whether an object lies at its destination already: what can be said of two ends of a copy by
/// what their stores tell, and by reading the local ones.

#include <mdstream/hash/openssl.hpp>
#include <mdstream/store/detail/cloud/upload.hpp>
#include <mdstream/store/detail/digest.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/store/detail/s3/part_tags.hpp>

#include "running_digest.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {

namespace mds = mdstream;

enum class compare_by { size, hash };

/// What is known of an object at one end of a copy.
struct copy_end {
  std::uint64_t bytes = 0;
  std::string digest{};  ///< see `mdstream/store/detail/digest.hpp`; empty: none is told
  bool is_file = false;  ///< that can be read here
};

/// `same_size`: nothing tells more, so that the size decides. `unread`: reading the file, or both,
/// would tell more.
enum class comparison { same, same_size, different, unread };

[[nodiscard]] constexpr bool is_left(comparison seen) {
  return seen == comparison::same || seen == comparison::same_size;
}

[[nodiscard]] constexpr comparison comparison_of(bool same) {
  return same ? comparison::same : comparison::different;
}

[[nodiscard]] inline comparison compare(compare_by how, const copy_end& from, const copy_end& to) {
  if (from.bytes != to.bytes) return comparison::different;
  if (from.bytes == 0) return comparison::same;
  if (how == compare_by::size) return comparison::same_size;
  if (const auto told = mds::detail::same_bytes(from.digest, to.digest))
    return comparison_of(*told);
  const bool tells =
      (from.is_file && (to.is_file || !to.digest.empty())) || (to.is_file && !from.digest.empty());
  return tells ? comparison::unread : comparison::same_size;
}

/// The sizes of parts that an object of `bytes` may have been uploaded in, when it came in so many:
/// this library's own, those that other tools take by default, and of few whole MiB any.
[[nodiscard]] inline std::vector<std::uint64_t> likely_part_sizes(std::uint64_t bytes,
                                                                  std::uint64_t parts) {
  if (parts == 1) return {bytes};
  std::vector<std::uint64_t> out;
  const auto consider = [&](std::uint64_t size) {
    const bool fits = (bytes + size - 1) / size == parts;
    if (fits && std::ranges::find(out, size) == out.end()) out.push_back(size);
  };
  consider(mds::detail::upload_plan{}.part_size(bytes));
  for (const std::uint64_t mib : {8, 5, 50, 15, 10, 16, 32, 64, 100, 128, 256, 512}) {
    consider(mib << 20);
  }
  if (parts == 0) return out;
  constexpr std::uint64_t mib = 1 << 20, few = 8;
  const std::uint64_t least = ((bytes + parts - 1) / parts + mib - 1) / mib * mib;
  const std::uint64_t most = bytes / (parts - 1);
  if (least > 0 && least + few * mib > most)
    for (std::uint64_t size = least; size <= most; size += mib) consider(size);
  return out;
}

/// A file that is read from its first byte to its last.
class read_through {
 public:
  read_through(const std::string& path, std::stop_token stop)
      : path_(path),
        stop_(std::move(stop)),
        file_(mds::detail::open_file(path, O_RDONLY)),
        block_(256 << 10) {}

  /// The next bytes, at most so many and not more than a block; empty at the end. They stay until
  /// the next call. Throws `errc::canceled` after a stop.
  [[nodiscard]] mds::bytes_view next(std::uint64_t most = UINT64_MAX) {
    if (stop_.stop_requested()) {
      throw mds::error(mds::errc::canceled, {.what = "reading was cancelled", .url = path_});
    }
    const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(most, block_.size()));
    const mds::mutable_bytes into = mds::mutable_bytes(block_).first(room);
    const std::size_t got = mds::detail::read_at(file_.get(), at_, into, path_);
    at_ += got;
    return into.first(got);
  }

 private:
  std::string path_;
  std::stop_token stop_;
  mds::detail::unique_fd file_;
  std::vector<std::byte> block_;
  std::uint64_t at_ = 0;
};

/// The digest of a file as an upload in parts of that size would have it.
[[nodiscard]] inline std::string digest_in_parts(const std::string& path, std::uint64_t part_bytes,
                                                 const std::stop_token& stop) {
  read_through file(path, stop);
  std::vector<std::string> tags;
  while (true) {
    mds::hash::md5 part;
    std::uint64_t left = part_bytes;
    while (left > 0) {
      const mds::bytes_view some = file.next(left);
      if (some.empty()) break;
      part.update(some);
      left -= some.size();
    }
    if (left < part_bytes) tags.push_back('"' + part.hex() + '"');
    if (left > 0) break;
  }
  return mds::detail::digest_of_tag(mds::detail::tag_of_parts(tags).value_or(""));
}

/// Nothing for an unknown hash. Throws `errc::unsupported` where the OpenSSL at hand refuses it.
[[nodiscard]] inline std::optional<bool> file_has_one(const std::string& path, std::uint64_t bytes,
                                                      std::string_view digest,
                                                      const std::stop_token& stop) {
  constexpr std::string_view of_parts = "md5-of-parts:";
  if (digest.starts_with(of_parts)) {
    const std::string parts(digest.substr(digest.find('-', of_parts.size()) + 1));
    return std::ranges::any_of(
        likely_part_sizes(bytes, std::stoull(parts)),
        [&](std::uint64_t size) { return digest_in_parts(path, size, stop) == digest; });
  }
  auto hash = running_digest::of(digest, bytes);
  if (!hash) return std::nullopt;
  read_through file(path, stop);
  for (auto some = file.next(); !some.empty(); some = file.next()) hash->update(some);
  return hash->matches();
}

/// Whether a file of that size has the bytes that digests are of, by the first that can be computed
/// here; nothing where none can. One of parts whose size nobody guesses is taken for that of other
/// bytes.
[[nodiscard]] inline std::optional<bool> file_has(const std::string& path, std::uint64_t bytes,
                                                  std::string_view digests,
                                                  const std::stop_token& stop = {}) {
  for (const std::string_view each : mds::detail::digests_of(digests)) {
    try {
      if (const auto has = file_has_one(path, bytes, each, stop)) return has;
    } catch (const mds::error& e) {
      if (e.code() != mds::errc::unsupported) throw;
    }
  }
  return std::nullopt;
}

[[nodiscard]] inline bool same_files(const std::string& a, const std::string& b,
                                     const std::stop_token& stop = {}) {
  read_through left(a, stop), right(b, stop);
  while (true) {
    const mds::bytes_view x = left.next(), y = right.next();
    if (x.size() != y.size() || std::memcmp(x.data(), y.data(), x.size()) != 0) return false;
    if (x.empty()) return true;
  }
}

/// Decides by reading where `compare` says `unread`. Paths are those of the ends that are files.
/// Throws `errc::canceled` after a stop.
[[nodiscard]] inline comparison compare_bytes(const copy_end& from, const std::string& from_path,
                                              const copy_end& to, const std::string& to_path,
                                              const std::stop_token& stop = {}) {
  if (from.is_file && to.is_file) return comparison_of(same_files(from_path, to_path, stop));
  const auto same = from.is_file ? file_has(from_path, from.bytes, to.digest, stop)
                                 : file_has(to_path, to.bytes, from.digest, stop);
  return same ? comparison_of(*same) : comparison::same_size;  // without a hash the size decides
}

}  // namespace cli
