#pragma once

/// JSON lines: a sample is a JSON object on a line of its own.

#include <mdstream/raw/detail/lines.hpp>
#include <mdstream/raw/format.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace mdstream::inline v0::raw {

/// Reads JSON lines. Lines end with a line feed, of which a carriage return before it is a part;
/// the last may lack it. Lines of blanks are no rows, a byte order mark is skipped.
///
///     mds::stream_options stream{
///         .remote = "s3://bucket/logs",
///         .raw = {.format = "jsonl", .columns = {{"text", "str"}, {"url", "str", "/meta/url"}}}};
class jsonl {
 public:
  static constexpr std::string_view name = "jsonl";
  static constexpr bool sums = true;
  static constexpr std::uint64_t look_behind = 1;

  [[nodiscard]] std::uint64_t cut(const window& in, cut_sink& out) const {
    return detail::cut_lines(in, out, blanks);
  }

  [[nodiscard]] std::optional<std::uint64_t> resync(const window& in, std::uint64_t from) const {
    return detail::first_line(in, from);
  }

  /// Reads the rows that are whole, up to 1,000.
  void infer(const window& in, detail::column_inference& out) const;

  void transcode(const cut_source& in, detail::sample_sink& out) const;

 private:
  static constexpr std::string_view blanks = " \t\r";  // JSON's

  static void check_utf8(std::string_view row);

  static void infer_row(const window& in, std::string_view row, detail::column_inference& out);
};

}  // namespace mdstream::inline v0::raw

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/jsonl.ipp>
#endif
