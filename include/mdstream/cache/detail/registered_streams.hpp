#pragma once

/// Which directories of a cache shards are fetched into, by any process, now or once: what lies
/// there can be fetched again. `<root>/.mdstream/streams` names each, with a zero byte after it.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// The text of a file, empty if the file does not exist.
[[nodiscard]] std::string read_text(const std::string& path);

/// Reads the file anew with each call. Changes are made under the directory lock.
class registered_streams {
 public:
  /// `root`: the cache's directory, normal and without a closing slash.
  explicit registered_streams(std::string root)
      : root_(std::move(root)), file_(root_ + "/.mdstream/streams") {}

  /// Relative to the root where they lie in it, else absolute; sorted. What leaves the root is left
  /// out: others may have written the file.
  [[nodiscard]] std::vector<std::string> paths() const;

  [[nodiscard]] std::string directory_of(const std::string& path) const;

  /// Adds those that are not there yet.
  void add(const std::vector<std::string>& wanted) const;

 private:
  [[nodiscard]] static std::vector<std::string> split(std::string_view text);

  std::string root_;
  std::string file_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/registered_streams.ipp>
#endif
