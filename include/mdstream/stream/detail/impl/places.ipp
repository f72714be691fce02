#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/store/store.hpp>
#include <mdstream/stream/detail/places.hpp>
#include <mdstream/version.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

/// A directory name for a remote without a local directory: readable, and distinct for distinct
/// remotes and for distinct samples made of the files of one.
MDSTREAM_INLINE std::string directory_name(const stream_request& stream,
                                           const std::string& working) {
  const std::string remote = without_trailing_slashes(
      url_scheme(stream.remote).empty()
          ? (std::filesystem::path(working) / stream.remote).lexically_normal().native()
          : stream.remote);
  const std::size_t slash = remote.find_last_of('/');
  std::string name = slash == std::string::npos ? remote : remote.substr(slash + 1);
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || (c == '.' && &c != name.data());
    if (!plain) c = '_';
  }
  fnv1a sum;
  sum.add(std::string_view(remote)).add(std::string_view(stream.name));
  if (!stream.reading.empty()) sum.add(std::string_view(stream.reading));
  const std::uint64_t hash = sum.value();
  std::array<char, 16> digits{};
  const char* end = std::to_chars(digits.data(), digits.data() + 16, hash, 16).ptr;
  return name.append("-").append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

MDSTREAM_INLINE std::string common_parent(const std::string& a, const std::string& b) {
  std::size_t end = 0;  // of the last whole part that both have
  for (std::size_t i = 0; i <= a.size() && i <= b.size(); ++i) {
    const bool a_ends = i == a.size() || a[i] == '/';
    const bool b_ends = i == b.size() || b[i] == '/';
    if (a_ends && b_ends) end = i;
    if (i == a.size() || i == b.size() || a[i] != b[i]) break;
  }
  return end == 0 ? (a.starts_with('/') && b.starts_with('/') ? "/" : "") : a.substr(0, end);
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE dataset_places settle_places(const std::vector<stream_request>& requests,
                                             const std::string& local, const std::string& temporary,
                                             const std::string& working) {
  dataset_places out;
  bool has_root = false;
  for (const stream_request& request : requests) {
    const bool has_remote = request.has_store || !request.remote.empty();
    if (!has_remote && request.local.empty())
      throw error(errc::invalid_argument, "stream " + std::to_string(out.streams.size()) +
                                              " names neither a remote nor a local directory");
    stream_place place{.name = request.name, .remote = request.remote, .split = request.split};
    if (place.name.empty()) place.name = has_remote ? request.remote : request.local;
    const std::string base =
        !request.local.empty() ? detail::without_trailing_slashes(request.local)
        : !local.empty()       ? join_key(local, detail::directory_name(request, working))
                               : join_key(temporary, detail::directory_name(request, working));
    place.directory = base.ends_with('/') ? base + request.split : join_key(base, request.split);
    place.directory = detail::without_trailing_slashes(place.directory);
    for (const stream_place& other : out.streams)
      if (other.directory == place.directory)
        throw error(errc::invalid_argument, diagnostics{.what = "two streams lie in one directory",
                                                        .url = place.directory});
    if (has_remote && local.empty()) {
      out.root = has_root ? detail::common_parent(out.root, base) : base;
      has_root = true;
    } else if (has_remote) {
      out.root = detail::without_trailing_slashes(local);
    }
    out.streams.push_back(std::move(place));
  }
  return out;
}

}  // namespace mdstream::inline v0::detail
