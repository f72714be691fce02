#pragma once

/// WebDataset: tar archives whose neighbouring files of one name are a sample.

#include <mdstream/raw/format.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw {

namespace detail {

/// A file's name taken apart, as WebDataset does: up to the first point of its last part, and the
/// lower-case rest.
struct member_name {
  std::string_view key{};
  std::string field{};
};

/// Nothing where the file belongs to no sample: it has no extension, or a part as `__meta__`.
[[nodiscard]] std::optional<member_name> split_member_name(std::string_view name);

}  // namespace detail

/// Reads the tar archives of WebDataset. Regular files are fields of samples; links, directories
/// and what WebDataset skips are skipped, hard links and sparse files refused. A key that comes
/// again later is another sample; a field twice in one is an error. Columns are fields; their
/// encodings go by the last extension; `__key__` is the key.
class webdataset {
 public:
  static constexpr std::string_view name = "webdataset";

  [[nodiscard]] std::uint64_t cut(const window& in, cut_sink& out);

  void infer(const window& in, detail::column_inference& out) const;

  void transcode(const cut_source& in, detail::sample_sink& out) const;

 private:
  struct member {
    std::string field{};
    std::uint64_t begin = 0;
    bytes_view data{};
  };

  static void add(const std::string& key, const std::vector<member>& members,
                  detail::sample_sink& out);

  [[noreturn]] static void fail(const std::string& key, const member& at, const member& first,
                                const std::string& what);

  std::string key_;  // of the sample that is read
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;  // of its last file; 0: there is none
};

}  // namespace mdstream::inline v0::raw

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/webdataset.ipp>
#endif
