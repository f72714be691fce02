#pragma once

/// Files of token ids, as llm.c, modded-nanogpt, nanoGPT and Megatron write them.

#include <mdstream/core/json.hpp>
#include <mdstream/raw/detail/megatron.hpp>
#include <mdstream/raw/format.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::raw {

/// The tokens of an object.
struct token_file {
  dtype type = dtype::none;
  std::uint64_t begin = 0;   ///< of the first token, in bytes
  std::uint64_t tokens = 0;  ///< 0 where they are not counted
  /// Megatron's index: its counts. 0 for all others.
  std::uint64_t sequences = 0;
  std::uint64_t documents = 0;

  [[nodiscard]] std::string dump() const;
  /// Throws errc::corrupt for a text that `dump` has not made.
  [[nodiscard]] static token_file parse(std::string_view text);
};

namespace detail {

inline constexpr std::uint64_t llmc_header = 1024;

}  // namespace detail

/// Reads files of token ids. Samples are windows of `window` tokens, one every `stride`, or
/// documents. The column is `tokens`: `ndarray:uint16:1025` for windows, `ndarray:uint16` for
/// documents.
///
/// Files are recognised by their headers: llm.c's and modded-nanogpt's (uint16), llm.c's for
/// Llama 3 (uint32), Megatron's `.bin` by the `.idx` beside it, which is what is cut. A file
/// without a header, as nanoGPT writes, needs `dtype`. A window does not reach into the next file:
/// a file's short last one is dropped, and so a document that spans two files is two samples.
///
///     mds::stream_options stream{.remote = "s3://bucket/fineweb",
///                                .raw = {.format = "tokens", .window = 1025, .stride = 1024}};
class tokens {
 public:
  static constexpr std::string_view name = "tokens";
  static constexpr bool sums = true;

  explicit tokens(const options& about = {});

  [[nodiscard]] std::uint64_t cut(const window& in, cut_sink& out);

  void infer(const window& in, detail::column_inference& out) const;

  void transcode(const cut_source& in, detail::sample_sink& out) const;

  /// Windows lie in the file as in a shard, if the column has their size and type.
  [[nodiscard]] std::uint64_t step(std::string_view note, const sample_layout& layout) const;

 private:
  /// What the object's first bytes tell; nothing where there are too few.
  [[nodiscard]] std::optional<token_file> head(const window& in) const;

  std::uint64_t cut_windows(const window& in, cut_sink& out);

  std::uint64_t cut_documents(const window& in, cut_sink& out);

  /// Where the document that begins at `at` ends, if the bytes show it.
  [[nodiscard]] std::optional<std::size_t> document_end(bytes_view bytes, std::size_t at,
                                                        dtype type) const;

  std::uint64_t cut_megatron(const window& in, cut_sink& out);

  template <class Add>
  void transcode_megatron(const cut_source& in, const token_file& about, Add&& add) const {
    const bool fits = in.extra.size() == 4 && in.parts.size() == 3 && in.extra[0] <= in.extra[1] &&
                      in.extra[2] <= in.extra[3] &&
                      in.parts[1].bytes.size() == 4 * (in.extra[3] - in.extra[2]) &&
                      in.parts[2].bytes.size() == 8 * (in.extra[1] - in.extra[0] + 1);
    if (!fits) fail_here(in, 0, "the cut of a Megatron file lacks its part of the index");
    std::uint64_t end_of_all = 0;
    detail::megatron_documents(unaligned_view<std::int32_t>(in.parts[1].bytes),
                               unaligned_view<std::int64_t>(in.parts[2].bytes), in.extra[2],
                               size_of(about.type))
        .for_each([&](std::uint64_t begin, std::uint64_t bytes) {
          end_of_all = begin + bytes;
          if (end_of_all > in.bytes().size())
            fail_here(in, begin, "a document reaches beyond its range");
          if (bytes > 0)
            add(in.bytes().subspan(static_cast<std::size_t>(begin),
                                   static_cast<std::size_t>(bytes)));
        });
    if (end_of_all != in.bytes().size())
      fail_here(in, end_of_all, "documents end before their range does");
  }

  [[noreturn]] static void fail_here(const cut_source& in, std::uint64_t byte, const char* what);

  std::uint64_t window_, stride_;
  std::optional<std::uint64_t> separator_;
  bool separator_last_;
  dtype bare_ = dtype::none;
  std::optional<token_file> file_{};  // of the object that is cut
  std::optional<detail::megatron_scan> scan_{};
};

/// The ranges of a Megatron index that `transcode` needs of a cut: lengths of sequences, bounds of
/// documents. Throws errc::corrupt if the cut does not tell them.
[[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> megatron_ranges(
    std::string_view note, std::span<const std::uint64_t> extra);

}  // namespace mdstream::inline v0::raw

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/tokens.ipp>
#endif
