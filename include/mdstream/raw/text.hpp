#pragma once

/// Plain text: a sample is a line or a paragraph.

#include <mdstream/raw/format.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace mdstream::inline v0::raw {

/// Reads UTF-8 text in lines that end with a line feed, of which a carriage return before it is a
/// part. A byte order mark is skipped. Samples have one column, by default `text: str`: a line
/// without its end; or a paragraph, lines up to the next blank one, whose inner line ends are kept.
///
///     mds::stream_options stream{.remote = "s3://bucket/books",
///                                .raw = {.format = "text", .unit = "paragraph"}};
class text {
 public:
  static constexpr std::string_view name = "text";
  static constexpr bool sums = true;
  static constexpr std::uint64_t look_behind = 3;

  explicit text(const options& about = {});

  [[nodiscard]] std::uint64_t cut(const window& in, cut_sink& out) const;

  [[nodiscard]] std::optional<std::uint64_t> resync(const window& in, std::uint64_t from) const;

  void infer(const window& in, detail::column_inference& out) const;

  void transcode(const cut_source& in, detail::sample_sink& out) const;

 private:
  [[nodiscard]] static std::uint64_t cut_paragraphs(const window& in, cut_sink& out);

  bool paragraphs_;
};

}  // namespace mdstream::inline v0::raw

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/text.ipp>
#endif
