#pragma once

#include <mdstream/raw/tokens.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::raw {

MDSTREAM_INLINE std::string token_file::dump() const {
  return json::dump(json::object{{"dtype", mdstream::to_string(type)},
                                 {"begin", begin},
                                 {"tokens", tokens},
                                 {"sequences", sequences},
                                 {"documents", documents}});
}

MDSTREAM_INLINE token_file token_file::parse(std::string_view text) {
  const json::value all = json::parse(text);
  const auto type = find_dtype(all.get<std::string>("dtype"));
  if (!type) throw error(errc::corrupt, "the note of a token file names no dtype");
  return {*type, all.get<std::uint64_t>("begin"), all.get<std::uint64_t>("tokens"),
          all.get<std::uint64_t>("sequences"), all.get<std::uint64_t>("documents")};
}

}  // namespace mdstream::inline v0::raw

namespace mdstream::inline v0::raw::detail {

/// The dtype of that number in Megatron's index.
MDSTREAM_INLINE dtype megatron_dtype(std::uint8_t code) {
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
MDSTREAM_INLINE token_file megatron_head(bytes_view bytes) {
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

}  // namespace mdstream::inline v0::raw::detail

namespace mdstream::inline v0::raw {

MDSTREAM_INLINE tokens::tokens(const options& about)
    : window_(about.window),
      stride_(about.stride == 0 ? about.window : about.stride),
      separator_(about.document_token),
      separator_last_(about.document_token_last) {
  if (window_ == 0 && about.stride != 0)
    throw error(errc::invalid_argument, "a stride of tokens needs a window");
  constexpr std::uint64_t most = std::uint64_t{1} << 40;  // in bytes they fit a number
  if (window_ > most || stride_ > most)
    throw error(errc::invalid_argument, "a window of " + std::to_string(window_) +
                                            " tokens every " + std::to_string(stride_) +
                                            " is too long");
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

MDSTREAM_INLINE std::uint64_t tokens::cut(const window& in, cut_sink& out) {
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

MDSTREAM_INLINE void tokens::infer(const window& in, detail::column_inference& out) const {
  const auto found = head(in);
  if (!found) return;
  out.add_row();
  std::string encoding = "ndarray:" + std::string(mdstream::to_string(found->type));
  if (window_ != 0) encoding += ':' + std::to_string(window_);
  out.add("tokens", encoding);
}

MDSTREAM_INLINE void tokens::transcode(const cut_source& in, detail::sample_sink& out) const {
  const token_file about = token_file::parse(in.note);
  if (out.layout().size() != 1 || out.layout()[0].type.kind != encoding_kind::ndarray ||
      (out.layout()[0].type.type != dtype::none && out.layout()[0].type.type != about.type))
    throw error(errc::schema_mismatch,
                diagnostics{.what = "tokens go into one column of encoding ndarray:" +
                                    std::string(mdstream::to_string(about.type)) + ", not " +
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

MDSTREAM_INLINE std::uint64_t tokens::step(std::string_view note,
                                           const sample_layout& layout) const {
  if (window_ == 0 || layout.size() != 1) return 0;
  const dtype type = token_file::parse(note).type;
  const encoding& column = layout[0].type;
  const bool fits = column.kind == encoding_kind::ndarray && column.type == type &&
                    fixed_size(column) == window_ * size_of(type);
  return fits ? stride_ * size_of(type) : 0;
}

MDSTREAM_INLINE std::optional<token_file> tokens::head(const window& in) const {
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

MDSTREAM_INLINE std::uint64_t tokens::cut_windows(const window& in, cut_sink& out) {
  const std::uint64_t each = size_of(file_->type);
  if (file_->tokens == 0 && !in.object_bytes)
    throw error(errc::unsupported, "windows of a compressed file of tokens without a header");
  out.note(file_->dump());
  if (file_->tokens >= window_)
    (void)out.run(file_->begin, stride_ * each, window_ * each,
                  (file_->tokens - window_) / stride_ + 1);
  out.end();
  return 0;
}

MDSTREAM_INLINE std::uint64_t tokens::cut_documents(const window& in, cut_sink& out) {
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

MDSTREAM_INLINE std::optional<std::size_t> tokens::document_end(bytes_view bytes, std::size_t at,
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

MDSTREAM_INLINE std::uint64_t tokens::cut_megatron(const window& in, cut_sink& out) {
  const std::uint64_t each = size_of(file_->type);
  if (in.object_bytes && *in.object_bytes % each != 0)
    detail::fail_tokens(18, "the .bin beside the index ends within a token");
  if (window_ != 0) {
    if (!in.object_bytes) throw error(errc::unsupported, "a compressed file of Megatron's");
    file_->tokens = *in.object_bytes / each;
    return cut_windows(in, out);
  }
  if (!scan_) {
    out.without_checksums();
    out.note(file_->dump());
    scan_.emplace(file_->sequences, file_->documents, each, in.object_bytes);
  }
  const std::uint64_t used =
      scan_->take(in, [&](std::uint64_t document, std::uint64_t begin, std::uint64_t bytes,
                          std::uint64_t first, std::uint64_t end) {
        const std::size_t before = out.cuts().size();
        // an empty one is no sample
        if (bytes == 0 || !out.sample(begin, begin + bytes)) return;
        std::vector<std::uint64_t>& extra = out.cuts().back().extra;
        if (out.cuts().size() != before) extra = {document, 0, first, 0};
        extra[1] = document + 1;
        extra[3] = end;
      });
  if (scan_->is_done()) out.end();
  return used;
}

MDSTREAM_INLINE void tokens::fail_here(const cut_source& in, std::uint64_t byte, const char* what) {
  throw error(errc::corrupt, diagnostics{.what = what,
                                         .url = std::string(in.first().key),
                                         .byte = in.first().offset + byte});
}

MDSTREAM_INLINE std::vector<std::pair<std::uint64_t, std::uint64_t>> megatron_ranges(
    std::string_view note, std::span<const std::uint64_t> extra) {
  const token_file about = token_file::parse(note);
  if (extra.size() != 4 || extra[0] > extra[1] || extra[1] >= about.documents ||
      extra[2] > extra[3] || extra[3] > about.sequences)
    throw error(errc::corrupt, "the cut of a Megatron file does not tell its documents");
  const detail::megatron_places places(about.sequences, about.documents);
  return {{places.lengths + 4 * extra[2], 4 * (extra[3] - extra[2])},
          {places.documents + 8 * extra[0], 8 * (extra[1] - extra[0] + 1)}};
}

}  // namespace mdstream::inline v0::raw
