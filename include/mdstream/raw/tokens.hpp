#pragma once

/// Files of token ids, as llm.c, modded-nanogpt, nanoGPT and Megatron write them.

#include <mdstream/core/json.hpp>
#include <mdstream/raw/format.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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

  [[nodiscard]] std::string dump() const {
    return json::dump(json::object{{"dtype", to_string(type)},
                                   {"begin", begin},
                                   {"tokens", tokens},
                                   {"sequences", sequences},
                                   {"documents", documents}});
  }
  /// Throws errc::corrupt for a text that `dump` has not made.
  [[nodiscard]] static token_file parse(std::string_view text) {
    const json::value all = json::parse(text);
    const auto type = find_dtype(all.get<std::string>("dtype"));
    if (!type) throw error(errc::corrupt, "the note of a token file names no dtype");
    return {*type, all.get<std::uint64_t>("begin"), all.get<std::uint64_t>("tokens"),
            all.get<std::uint64_t>("sequences"), all.get<std::uint64_t>("documents")};
  }
};

namespace detail {

inline constexpr std::string_view megatron_mark{"MMIDIDX\0\0", 9};
inline constexpr std::uint64_t megatron_header = 34, llmc_header = 1024;

[[noreturn]] inline void fail_tokens(std::uint64_t byte, std::string what) {
  throw error(errc::corrupt, diagnostics{.what = std::move(what), .byte = byte});
}

/// The dtype of that number in Megatron's index.
[[nodiscard]] inline dtype megatron_dtype(std::uint8_t code) {
  constexpr dtype types[] = {dtype::none,    dtype::uint8,   dtype::int8,
                             dtype::int16,   dtype::int32,   dtype::int64,
                             dtype::float64, dtype::float32, dtype::uint16};
  const dtype out = code < std::size(types) ? types[code] : dtype::none;
  if (out == dtype::none)
    fail_tokens(17, "the index has the unknown dtype " + std::to_string(code));
  if (is_floating(out)) fail_tokens(17, "the index says that tokens are floating-point numbers");
  return out;
}

/// The head of Megatron's `.idx`. `bytes`: as many as there are, at least the header.
[[nodiscard]] inline token_file megatron_head(bytes_view bytes) {
  if (bytes.size() < megatron_header) fail_tokens(bytes.size(), "the index is cut short");
  if (const auto found = load<std::uint64_t>(bytes.data() + 9); found != 1)
    throw error(errc::unsupported,
                diagnostics{.what = "the index has version " + std::to_string(found) + ", not 1",
                            .byte = 9});
  token_file out{.type = megatron_dtype(load<std::uint8_t>(bytes.data() + 17)),
                 .sequences = load<std::uint64_t>(bytes.data() + 18),
                 .documents = load<std::uint64_t>(bytes.data() + 26)};
  constexpr std::uint64_t most = std::uint64_t{1} << 48;
  if (out.sequences > most || out.documents > most || out.documents == 0)
    fail_tokens(18, "the index says that it has " + std::to_string(out.sequences) +
                        " sequences and " + std::to_string(out.documents) + " bounds of documents");
  return out;
}

/// Where the arrays of Megatron's index begin.
struct megatron_places {
  std::uint64_t lengths, pointers, documents, end;

  explicit megatron_places(const token_file& head)
      : lengths(megatron_header),
        pointers(lengths + 4 * head.sequences),
        documents(pointers + 8 * head.sequences),
        end(documents + 8 * head.documents) {}
};

/// Documents of Megatron's index, of which a part may be given.
class megatron_documents {
 public:
  /// `lengths` of the sequences from `first` on, and `bounds` of documents.
  megatron_documents(unaligned_view<std::int32_t> lengths, unaligned_view<std::int64_t> bounds,
                     std::uint64_t first, std::uint64_t token_bytes)
      : lengths_(lengths), bounds_(bounds), first_(first), token_bytes_(token_bytes) {}

  /// Calls `use(document, begin, bytes, sequences)` for each document: where it begins, counted
  /// from the first one's bytes, and the sequences up to its end. Throws errc::corrupt.
  template <class Use>
  void for_each(Use&& use) const {
    std::uint64_t at = 0, sequence = first_;
    for (std::size_t d = 0; d + 1 < bounds_.size(); ++d) {
      const std::int64_t from = bounds_[d], to = bounds_[d + 1];
      if (from < 0 || to < from || static_cast<std::uint64_t>(from) != sequence ||
          static_cast<std::uint64_t>(to) - first_ > lengths_.size())
        throw error(errc::corrupt, "the bounds of document " + std::to_string(d) + ", " +
                                       std::to_string(from) + " and " + std::to_string(to) +
                                       ", are not in their order");
      std::uint64_t bytes = 0;
      for (; sequence < static_cast<std::uint64_t>(to); ++sequence) {
        const std::int32_t length = lengths_[static_cast<std::size_t>(sequence - first_)];
        if (length < 0)
          throw error(errc::corrupt, "sequence " + std::to_string(sequence) + " has the length " +
                                         std::to_string(length));
        bytes += static_cast<std::uint64_t>(length) * token_bytes_;
      }
      if (!use(d, at, bytes, sequence)) return;
      at += bytes;
    }
  }

 private:
  unaligned_view<std::int32_t> lengths_;
  unaligned_view<std::int64_t> bounds_;
  std::uint64_t first_, token_bytes_;
};

}  // namespace detail

/// Samples are windows of `window` tokens, one every `stride`, or documents. The column is
/// `tokens`: `ndarray:uint16:1025` for windows, `ndarray:uint16` for documents.
///
/// Files are recognised by their headers: llm.c's and modded-nanogpt's (uint16), llm.c's for
/// Llama 3 (uint32), Megatron's `.bin` by the `.idx` beside it, which is what is cut. A file
/// without a header, as nanoGPT writes, needs `dtype`. A window does not reach into the next file:
/// a file's short last one is dropped, and so a document that spans two files is two samples.
class tokens {
 public:
  static constexpr std::string_view name = "tokens";
  static constexpr bool sums = true;

  explicit tokens(const options& about = {})
      : window_(about.window),
        stride_(about.stride == 0 ? about.window : about.stride),
        separator_(about.document_token),
        separator_last_(about.document_token_last) {
    if (window_ == 0 && about.stride != 0)
      throw error(errc::invalid_argument, "a stride of tokens needs a window");
    if (window_ != 0 && separator_)
      throw error(errc::invalid_argument,
                  "a sample is a window of tokens or a document: set window or document_token");
    if (!about.dtype.empty()) {
      const auto type = find_dtype(about.dtype);
      if (!type || is_floating(*type))
        throw error(errc::invalid_argument, "\"" + about.dtype + "\" is no dtype of tokens");
      bare_ = *type;
    }
  }

  [[nodiscard]] std::uint64_t cut(const window& in, cut_sink& out) {
    if (!file_) {
      const auto found = head(in);
      if (!found) return 0;
      file_ = *found;
    }
    if (file_->documents != 0) return cut_megatron(in, out);
    if (window_ != 0) return cut_windows(in, out);
    if (!separator_)
      throw error(errc::invalid_argument,
                  "token files need a window, or document_token, which separates documents");
    return cut_documents(in, out);
  }

  void infer(const window& in, column_inference& out) const {
    const auto found = head(in);
    if (!found) return;
    out.add_row();
    std::string encoding = "ndarray:" + std::string(to_string(found->type));
    if (window_ != 0) encoding += ':' + std::to_string(window_);
    out.add("tokens", encoding);
  }

  void transcode(const cut_source& in, sample_sink& out) const {
    const token_file about = token_file::parse(in.note);
    if (out.layout().size() != 1 || out.layout()[0].type.kind != encoding_kind::ndarray ||
        (out.layout()[0].type.type != dtype::none && out.layout()[0].type.type != about.type))
      throw error(errc::schema_mismatch,
                  diagnostics{.what = "tokens go into one column of encoding ndarray:" +
                                      std::string(to_string(about.type)) + ", not " +
                                      out.layout().describe(),
                              .url = std::string(in.first().key)});
    const std::uint64_t each = size_of(about.type);
    const auto add = [&](bytes_view sample) {
      out.row(in.at(sample), [&] {
        const array_shape shape{sample.size() / each};
        out.values().clear();
        if (fixed_size(out.layout()[0].type) == sample.size())
          out.values().set(0, sample);
        else
          out.values().set_value(0, any_ndarray(about.type, shape, sample));
        out.add_values();
      });
    };
    const bytes_view all = in.bytes();
    if (all.size() % each != 0) fail_here(in, all.size(), "the range ends within a token");
    if (about.documents != 0 && window_ == 0) return transcode_megatron(in, about, add);
    if (window_ != 0) {
      for (std::uint64_t at = 0; at + window_ * each <= all.size(); at += stride_ * each)
        add(all.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(window_ * each)));
      return;
    }
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t end = document_end(all, at, about.type).value_or(all.size());
      add(all.subspan(at, end - at));
      at = end;
    }
  }

 private:
  /// What the object's first bytes tell; nothing where there are too few.
  [[nodiscard]] std::optional<token_file> head(const window& in) const {
    if (in.bytes.size() < detail::llmc_header && !in.last) return std::nullopt;
    if (in.text().starts_with(detail::megatron_mark)) return detail::megatron_head(in.bytes);
    const auto word = [&](std::size_t i) {
      return in.bytes.size() < 4 * i + 4 ? 0 : load<std::uint32_t>(in.bytes.data() + 4 * i);
    };
    const bool is_small = word(0) == 20240520 && word(1) == 1;
    const bool is_large = word(0) == 20240801 && word(1) == 7;
    if (word(0) == 20240522 && in.bytes.size() >= detail::llmc_header)
      throw error(errc::unsupported,
                  diagnostics{.what = "the file is one of llm.c's for evaluation", .byte = 0});
    if (is_small || is_large) {
      if (in.bytes.size() < detail::llmc_header)
        detail::fail_tokens(in.bytes.size(), "the header of 1024 bytes is cut short");
      const token_file out{is_small ? dtype::uint16 : dtype::uint32, detail::llmc_header, word(2)};
      const std::uint64_t expected = out.begin + out.tokens * size_of(out.type);
      if (in.object_bytes && *in.object_bytes != expected)
        detail::fail_tokens(8, "the header says that there are " + std::to_string(out.tokens) +
                                   " tokens, so " + std::to_string(expected) +
                                   " bytes, but the file has " + std::to_string(*in.object_bytes));
      return out;
    }
    if (bare_ == dtype::none)
      throw error(errc::unsupported,
                  diagnostics{.what = "the file has no header that is known: set dtype if it is "
                                      "tokens alone; Megatron's .bin needs its .idx",
                              .byte = 0});
    token_file out{.type = bare_};
    if (in.object_bytes) {
      if (*in.object_bytes % size_of(bare_) != 0)
        detail::fail_tokens(*in.object_bytes, "the file ends within a token");
      out.tokens = *in.object_bytes / size_of(bare_);
    }
    return out;
  }

  std::uint64_t cut_windows(const window& in, cut_sink& out) {
    const std::uint64_t each = size_of(file_->type);
    if (file_->tokens == 0 && !in.object_bytes)
      throw error(errc::unsupported, "windows of a compressed file of tokens without a header");
    out.note(file_->dump());
    if (file_->tokens >= window_)
      (void)out.run(file_->begin, checked_bytes(stride_, each), checked_bytes(window_, each),
                    (file_->tokens - window_) / stride_ + 1);
    out.end();
    return 0;
  }

  std::uint64_t cut_documents(const window& in, cut_sink& out) {
    std::size_t at = 0;
    if (in.offset == 0) {
      out.note(file_->dump());
      at = static_cast<std::size_t>(file_->begin);
    }
    while (at < in.bytes.size()) {
      const auto found = document_end(in.bytes, at, file_->type);
      if (!found && !in.last) return at;
      const std::size_t end = found.value_or(in.bytes.size());
      if ((end - at) % size_of(file_->type) != 0)
        detail::fail_tokens(in.offset + end, "the file ends within a token");
      if (!out.sample(in.offset + at, in.offset + end)) return at;
      at = end;
    }
    return at;
  }

  /// Where the document that begins at `at` ends, if the bytes show it.
  [[nodiscard]] std::optional<std::size_t> document_end(bytes_view bytes, std::size_t at,
                                                        dtype type) const {
    return visit_dtype(type, [&]<class T>(T) -> std::optional<std::size_t> {
      if constexpr (std::is_integral_v<T>) {
        if (!separator_ || !std::in_range<T>(*separator_)) return std::nullopt;
        const auto wanted = static_cast<T>(*separator_);
        const unaligned_view<T> all(bytes.subspan(at));
        for (std::size_t i = separator_last_ ? 0 : 1; i < all.size(); ++i)
          if (all[i] == wanted) return at + (i + (separator_last_ ? 1 : 0)) * sizeof(T);
      }
      return std::nullopt;
    });
  }

  std::uint64_t cut_megatron(const window& in, cut_sink& out) {
    const std::uint64_t each = size_of(file_->type);
    if (in.object_bytes && *in.object_bytes % each != 0)
      detail::fail_tokens(18, "the .bin beside the index ends within a token");
    if (window_ != 0) {
      if (!in.object_bytes) throw error(errc::unsupported, "a compressed file of Megatron's");
      file_->tokens = *in.object_bytes / each;
      return cut_windows(in, out);
    }
    if (!in.last) return 0;
    out.without_checksums();
    out.note(file_->dump());
    const detail::megatron_places places(*file_);
    if (in.bytes.size() < places.end)
      detail::fail_tokens(in.bytes.size(),
                          "the index is cut short: it says that it has " +
                              std::to_string(file_->sequences) + " sequences and " +
                              std::to_string(file_->documents) + " bounds of documents");
    const auto array = [&](std::uint64_t from, std::uint64_t to) {
      return in.bytes.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
    };
    const unaligned_view<std::int32_t> lengths(array(places.lengths, places.pointers));
    check_pointers(lengths, unaligned_view<std::int64_t>(array(places.pointers, places.documents)),
                   each, places.pointers, in.object_bytes);
    const unaligned_view<std::int64_t> bounds(array(places.documents, places.end));
    if (bounds[0] != 0 || static_cast<std::uint64_t>(bounds[bounds.size() - 1]) != file_->sequences)
      detail::fail_tokens(places.documents,
                          "the index's documents do not reach from its first sequence to its last");
    std::uint64_t sequence = 0;
    detail::megatron_documents(lengths, bounds, 0, each)
        .for_each([&](std::size_t d, std::uint64_t begin, std::uint64_t bytes, std::uint64_t end) {
          const std::size_t before = out.cuts().size();
          if (bytes > 0) {  // an empty one is no sample
            if (!out.sample(begin, begin + bytes)) return false;
            std::vector<std::uint64_t>& extra = out.cuts().back().extra;
            if (out.cuts().size() != before) extra = {d, 0, sequence, 0};
            extra[1] = d + 1;
            extra[3] = end;
          }
          sequence = end;
          return true;
        });
    return in.bytes.size();
  }

  /// Sequences lie one behind the other, from the first byte of the `.bin` to its last.
  /// `place`: of the pointers in the index.
  static void check_pointers(unaligned_view<std::int32_t> lengths,
                             unaligned_view<std::int64_t> pointers, std::uint64_t token_bytes,
                             std::uint64_t place, std::optional<std::uint64_t> object_bytes) {
    std::int64_t expected = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (pointers[i] != expected)
        detail::fail_tokens(place + 8 * i, "sequence " + std::to_string(i) + " begins at byte " +
                                               std::to_string(pointers[i]) +
                                               " of the .bin, but the one before ends at " +
                                               std::to_string(expected));
      expected += std::int64_t{lengths[i]} * static_cast<std::int64_t>(token_bytes);
      if (lengths[i] < 0 || expected > std::int64_t{1} << 60)
        detail::fail_tokens(
            detail::megatron_header + 4 * i,
            "sequence " + std::to_string(i) + " has the length " + std::to_string(lengths[i]));
    }
    if (object_bytes && static_cast<std::uint64_t>(expected) != *object_bytes)
      detail::fail_tokens(place, "the index's sequences have " + std::to_string(expected) +
                                     " bytes, but the .bin has " + std::to_string(*object_bytes));
  }

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
        .for_each([&](std::size_t, std::uint64_t begin, std::uint64_t bytes, std::uint64_t) {
          end_of_all = begin + bytes;
          if (end_of_all > in.bytes().size())
            fail_here(in, begin, "a document reaches beyond its range");
          if (bytes > 0)
            add(in.bytes().subspan(static_cast<std::size_t>(begin),
                                   static_cast<std::size_t>(bytes)));
          return true;
        });
    if (end_of_all != in.bytes().size())
      fail_here(in, end_of_all, "documents end before their range does");
  }

  static std::uint64_t checked_bytes(std::uint64_t count, std::uint64_t each) {
    if (count > (std::uint64_t{1} << 40))
      throw error(errc::invalid_argument, "a window or stride of " + std::to_string(count) +
                                              " tokens is beyond all reason");
    return count * each;
  }

  [[noreturn]] static void fail_here(const cut_source& in, std::uint64_t byte, const char* what) {
    throw error(errc::corrupt, diagnostics{.what = what,
                                           .url = std::string(in.first().key),
                                           .byte = in.first().offset + byte});
  }

  std::uint64_t window_, stride_;
  std::optional<std::uint64_t> separator_;
  bool separator_last_;
  dtype bare_ = dtype::none;
  std::optional<token_file> file_{};  // of the object that is cut
};

/// The ranges of a Megatron index that `transcode` needs of a cut: lengths of sequences, bounds of
/// documents. Throws errc::corrupt if the cut does not tell them.
[[nodiscard]] inline std::vector<std::pair<std::uint64_t, std::uint64_t>> megatron_ranges(
    std::string_view note, std::span<const std::uint64_t> extra) {
  const token_file about = token_file::parse(note);
  if (extra.size() != 4 || extra[0] > extra[1] || extra[1] >= about.documents ||
      extra[2] > extra[3] || extra[3] > about.sequences)
    throw error(errc::corrupt, "the cut of a Megatron file does not tell its documents");
  const detail::megatron_places places(about);
  return {{places.lengths + 4 * extra[2], 4 * (extra[3] - extra[2])},
          {places.documents + 8 * extra[0], 8 * (extra[1] - extra[0] + 1)}};
}

}  // namespace mdstream::inline v0::raw
