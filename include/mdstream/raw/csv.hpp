#pragma once

/// CSV with a header, as RFC 4180 has it.

#include <mdstream/core/json.hpp>
#include <mdstream/raw/detail/lines.hpp>
#include <mdstream/raw/format.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw {

namespace detail {

struct csv_row : line {
  bool is_open = false;  ///< the text ends within quotes
};

/// Takes rows apart.
class csv_fields {
 public:
  explicit csv_fields(char delimiter) : delimiter_(delimiter) {}

  /// The fields of a row without its end, valid until the next call or while `row` is. Throws
  /// errc::corrupt, naming the byte of the row.
  const std::vector<std::string_view>& read(std::string_view row);

 private:
  std::string_view quoted(std::string_view row, std::size_t& at);

  [[noreturn]] static void fail(std::size_t byte, const char* what);

  char delimiter_;
  std::vector<std::string_view> fields_;
  std::deque<std::string> own_;
};

}  // namespace detail

/// Reads CSV. The first row of each object is its header, so objects may have their columns in
/// different orders. Fields may be quoted and hold line ends then; blank lines are no rows; a byte
/// order mark is skipped. Inferred columns are texts. An empty field of a column that is no text is
/// null.
///
///     mds::stream_options stream{.remote = "s3://bucket/tables",
///                                .raw = {.format = "csv", .delimiter = ";"}};
class csv {
 public:
  static constexpr std::string_view name = "csv";
  static constexpr bool sums = true;

  explicit csv(const options& about = {});

  [[nodiscard]] std::uint64_t cut(const window& in, cut_sink& out) const;

  void infer(const window& in, detail::column_inference& out) const;

  void transcode(const cut_source& in, detail::sample_sink& out) const;

 private:
  struct header_row {
    std::vector<std::string> fields{};
    std::size_t end = 0;  ///< 0: the window does not have all of it
  };

  [[nodiscard]] header_row header(const window& in) const;

  static std::vector<std::size_t> places_of(const cut_source& in, const sample_layout& layout);

  static void set(detail::sample_sink& out, std::size_t i, std::string_view field);

  char delimiter_;
};

}  // namespace mdstream::inline v0::raw

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/csv.ipp>
#endif
