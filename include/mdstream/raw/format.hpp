#pragma once

/// Foreign formats: what a format is made of, and formats of your own.
///
/// A format has two functions. `cut` finds the samples of an object, as byte ranges; `transcode`
/// makes MDS samples of such a range. Both are pure: they get bytes, and never read by themselves.
///
///     struct records {  // u32 size, then so many bytes
///       static constexpr std::string_view name = "records";
///       std::uint64_t cut(const mds::raw::window& in, mds::raw::cut_sink& out) {
///         std::uint64_t at = 0;
///         while (in.bytes.size() >= at + 4) {
///           const std::uint64_t size = 4 + mds::load<std::uint32_t>(in.bytes.data() + at);
///           if (!out.sample(in.offset + at, in.offset + at + size)) break;
///           at += size;  // may lie beyond the window: nobody reads what lies between
///         }
///         return at;
///       }
///       void transcode(const mds::raw::cut_source& in, mds::raw::sample_sink& out) const {
///         for (mds::bytes_view rest = in.bytes(); !rest.empty();) {
///           const std::size_t size = 4 + mds::load<std::uint32_t>(rest.data());
///           out.row(in.at(rest), [&] { out.add({{"record", rest.subspan(4, size - 4)}}); });
///           rest = rest.subspan(size);
///         }
///       }
///     };

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/raw/detail/column_inference.hpp>
#include <mdstream/raw/detail/sample_sink.hpp>
#include <mdstream/raw/options.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::raw {

/// A stretch of an object's plain bytes (decompressed, where the object is compressed).
struct window {
  std::uint64_t offset = 0;  ///< of the first byte
  bytes_view bytes{};
  bool last = false;  ///< the object ends with them
  /// Bytes of all of the object, where they are known: not of compressed ones.
  std::optional<std::uint64_t> object_bytes{};

  [[nodiscard]] std::string_view text() const noexcept { return as_text(bytes); }
};

/// One virtual shard: the samples of an object whose first bytes lie in one stretch of
/// `shard_bytes` plain bytes.
struct cut {
  std::uint64_t offset = 0;  ///< of the first sample's first byte in the object's plain bytes
  std::uint64_t bytes = 0;   ///< up to the last sample's end
  std::uint64_t samples = 0;
  std::optional<std::uint32_t> crc32c{};  ///< of these bytes, where the scan read them all
  std::vector<std::uint64_t> extra{};     ///< numbers that the format needs besides

  friend bool operator==(const cut&, const cut&) = default;
};

/// A range of an object's plain bytes.
struct byte_range {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const byte_range&, const byte_range&) = default;
};

/// Takes the samples that a format finds in an object and makes cuts of them.
class cut_sink {
 public:
  static constexpr std::uint64_t no_end = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t most_samples = std::numeric_limits<std::uint32_t>::max();

  /// Takes the samples that begin in [from, to).
  explicit cut_sink(const options& about, std::uint64_t from = 0, std::uint64_t to = no_end);

  /// A sample lies at [begin, end) of the object. Samples come in their order. Returns false where
  /// this one, and so all others, are not asked for. Throws errc::unsupported, naming the byte, for
  /// one above `max_row_bytes` and for more than 2^32 - 1 in a cut.
  bool sample(std::uint64_t begin, std::uint64_t end);

  /// `count` samples of `size` bytes each, one every `step` bytes from `begin` on; they may
  /// overlap.
  bool run(std::uint64_t begin, std::uint64_t step, std::uint64_t size, std::uint64_t count);

  /// `count` samples that can only be read together begin at `begin`, and take `bytes` in all.
  bool group(std::uint64_t begin, std::uint64_t bytes, std::uint64_t count);

  /// The bytes that are cut are not the samples', so that they make no checksums.
  void without_checksums() noexcept { without_sums_ = true; }

  /// Nothing behind is data, whatever else the object has.
  void end() noexcept { full_ = true; }

  /// What `transcode` has to know of the object besides the bytes of a cut, such as a header. It is
  /// kept in the row index.
  void note(std::string text) { note_ = std::move(text); }
  [[nodiscard]] const std::string& note() const noexcept { return note_; }

  /// The cuts so far; the last one may grow. A format may add to their `extra` what `transcode` has
  /// to know of them.
  [[nodiscard]] std::vector<cut>& cuts() noexcept { return cuts_; }

  /// No further sample is asked for.
  [[nodiscard]] bool is_full() const noexcept { return full_; }
  [[nodiscard]] std::uint64_t from() const noexcept { return from_; }
  [[nodiscard]] std::uint64_t to() const noexcept { return to_; }

  /// Adds a window to the checksums of the cuts that it holds bytes of: after `cut` has seen it.
  void add_to_checksums(const window& seen);

  /// The cuts, when the object is at its end.
  [[nodiscard]] std::vector<cut> finish();

 private:
  void store_end();

  [[nodiscard]] bool is_open(std::size_t i) const noexcept {
    return open_ && i + 1 == cuts_.size();
  }

  void add_samples(std::uint64_t begin, std::uint64_t count);

  bool next_cut(std::uint64_t begin);

  void close_sum(cut& each);

  [[noreturn]] void fail_large(std::uint64_t begin, std::uint64_t end) const;

  std::uint64_t shard_bytes_, max_row_bytes_, from_, to_;
  std::uint64_t limit_ = 0;    // samples from here on belong to another cut
  std::uint64_t samples_ = 0;  // of the open cut
  std::uint64_t end_ = 0;      // of the last sample
  bool open_ = false, full_ = false;
  std::vector<cut> cuts_;
  std::string note_;
  std::size_t summing_ = 0;  // the cut whose checksum is being made
  std::uint64_t sum_at_ = 0;
  std::uint32_t sum_ = 0;
  std::uint64_t rest_bytes_ = 0;  // behind `sum_at_`
  std::uint32_t rest_sum_ = 0;
  bool sum_began_ = false, sums_ = false, without_sums_ = false;
};

/// A range of an object that belongs to a cut.
struct part {
  std::string_view key{};
  std::uint64_t offset = 0;  ///< of the first byte in the object's plain bytes
  bytes_view bytes{};
  std::int64_t label = 0;  ///< images: the rank of the object's directory
};

/// The bytes of one cut. Most formats have one part; files as samples have one for each file.
struct cut_source {
  std::span<const part> parts{};
  std::string_view note{};                 ///< what `cut_sink::note` kept of the object
  std::span<const std::uint64_t> extra{};  ///< of the cut

  [[nodiscard]] const part& first() const noexcept { return parts.front(); }
  [[nodiscard]] bytes_view bytes() const noexcept { return first().bytes; }
  /// The offset in the object of what `rest`, a part of `bytes()`, begins with.
  [[nodiscard]] std::uint64_t at(bytes_view rest) const noexcept;
};

using detail::column_inference;  ///< what `infer` of a format adds to
using detail::sample_sink;       ///< what `transcode` of a format adds samples to

/// A format that can stand in the policies. Beside the two functions it may have
///
/// - a constructor from `options`, which refuses what the format cannot do;
/// - `infer(const window&, column_inference&)`: the columns, from an object's first bytes; that
///   hold less than a row add none, and more of them are given;
/// - `look_behind` and `resync(window, from)`, by which stretches of one object are cut in
///   parallel: where the first sample at or after `from` begins, if the window, which has so many
///   bytes before `from`, shows it. See `jsonl`;
/// - `tail_bytes(const window&)`, where an object's end tells what it holds: how many of its last
///   bytes `cut` and `infer` need, seen from the last ones. They get these and no others;
/// - `ranges(const cut&)`: where a cut's bytes lie in the object, if not where its offset says.
///   `transcode` gets a part for each;
/// - `step(std::string_view note, const sample_layout&)`: how many bytes apart samples begin, where
///   they lie in the object as in an MDS shard, the first one at the cut's offset, and all have one
///   size; else 0. Such an object that is a file of this machine need not be copied, if a cut lies
///   in one stretch of it;
/// - `sums = true`, where `cut` tells a sample only when it has all its bytes: cuts get checksums.
///
/// `cut` gets an object's bytes from where it left off, and returns how many of them are done; 0:
/// it needs more of them to go on. One object of the format's type cuts one object, and may keep
/// what it has to know from one call to the next.
template <class F>
concept row_format = requires(F f, const F reads, const window& in, cut_sink& out,
                              const cut_source& from, detail::sample_sink& to) {
  { F::name } -> std::convertible_to<std::string_view>;
  { f.cut(in, out) } -> std::same_as<std::uint64_t>;
  reads.transcode(from, to);
};

namespace detail {

/// Runs `f`. What it throws names the object.
template <class F>
decltype(auto) naming_object(std::string_view key, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const error& e) {
    diagnostics where = e.where();
    if (where.url.empty()) where.url = key;
    throw error(e.code(), std::move(where));
  }
}

/// A format whose type is not known.
class erased_format {
 public:
  virtual ~erased_format() = default;
  [[nodiscard]] virtual std::unique_ptr<erased_format> clone() const = 0;
  virtual std::uint64_t cut(const window& in, cut_sink& out) = 0;
  virtual void transcode(const cut_source& in, sample_sink& out) const = 0;
  virtual void infer(const window& in, column_inference& out) const = 0;
  /// The columns of samples that are whole objects, by their keys; nothing where they are not.
  [[nodiscard]] virtual std::optional<std::vector<column>> columns_of_files(
      std::span<const std::string_view> keys) const = 0;
  [[nodiscard]] virtual bool takes_whole_objects() const = 0;
  [[nodiscard]] virtual bool sums() const = 0;
  /// 0: objects are cut from their beginning on.
  [[nodiscard]] virtual std::uint64_t look_behind() const = 0;
  [[nodiscard]] virtual std::optional<std::uint64_t> resync(const window& in,
                                                            std::uint64_t from) const = 0;
  /// Objects are read from their end; else from their beginning.
  [[nodiscard]] virtual bool reads_tail() const = 0;
  [[nodiscard]] virtual std::uint64_t tail_bytes(const window& in) const = 0;
  /// Nothing where a cut's bytes lie at its offset.
  [[nodiscard]] virtual std::optional<std::vector<byte_range>> ranges(const raw::cut& of) const = 0;
  /// 0: samples do not lie in the object as in an MDS shard.
  [[nodiscard]] virtual std::uint64_t step(std::string_view note,
                                           const sample_layout& layout) const = 0;
};

template <row_format F>
class erased final : public erased_format {
 public:
  explicit erased(F format) : format_(std::move(format)) {}

  std::unique_ptr<erased_format> clone() const override {
    return std::make_unique<erased>(format_);
  }
  std::uint64_t cut(const window& in, cut_sink& out) override { return format_.cut(in, out); }
  void transcode(const cut_source& in, sample_sink& out) const override {
    format_.transcode(in, out);
  }
  void infer(const window& in, column_inference& out) const override {
    if constexpr (requires { format_.infer(in, out); })
      format_.infer(in, out);
    else
      throw error(errc::invalid_argument, "columns of the format \"" + std::string(F::name) +
                                              "\" cannot be inferred: name them");
  }
  std::optional<std::vector<column>> columns_of_files(
      std::span<const std::string_view> keys) const override {
    if constexpr (requires { F::columns(keys); })
      return F::columns(keys);
    else
      return std::nullopt;
  }
  bool takes_whole_objects() const override {
    if constexpr (requires { F::takes_whole_objects; })
      return F::takes_whole_objects;
    else
      return false;
  }
  bool sums() const override {
    if constexpr (requires { F::sums; })
      return F::sums;
    else
      return false;
  }
  std::uint64_t look_behind() const override {
    if constexpr (requires { F::look_behind; })
      return F::look_behind;
    else
      return 0;
  }
  std::optional<std::uint64_t> resync(const window& in, std::uint64_t from) const override {
    if constexpr (requires { format_.resync(in, from); })
      return format_.resync(in, from);
    else
      return std::nullopt;
  }
  bool reads_tail() const override { return tells_tail; }
  std::uint64_t tail_bytes(const window& in) const override {
    if constexpr (tells_tail)
      return F::tail_bytes(in);
    else
      return in.bytes.size();
  }
  std::optional<std::vector<byte_range>> ranges(const raw::cut& of) const override {
    if constexpr (requires { F::ranges(of); })
      return F::ranges(of);
    else
      return std::nullopt;
  }
  std::uint64_t step(std::string_view note, const sample_layout& layout) const override {
    if constexpr (requires { format_.step(note, layout); })
      return format_.step(note, layout);
    else
      return 0;
  }

 private:
  static constexpr bool tells_tail = requires(const window& in) { F::tail_bytes(in); };

  F format_;
};

}  // namespace detail

/// A format chosen at run time.
class source_format {
 public:
  template <row_format F>
  source_format(F format, raw::options about)
      : options_(std::move(about)),
        format_(std::make_shared<detail::erased<F>>(std::move(format))) {}

  [[nodiscard]] const options& settings() const noexcept { return options_; }
  [[nodiscard]] const detail::erased_format& get() const noexcept { return *format_; }

  /// The same, with columns that are named.
  [[nodiscard]] source_format with_columns(std::vector<column> columns) const;

 private:
  raw::options options_;
  std::shared_ptr<const detail::erased_format> format_;
};

/// The formats of a program: what it can read depends on what it names.
///
///     using policies = mds::policies<mds::raw::any_format<mds::raw::jsonl, records>>;
template <row_format... Formats>
struct any_format {
  using is_format_list = void;  ///< what policies<...> recognises it by

  /// These and more: `mds::raw::plain_formats::with<mds::raw::parquet>`.
  template <row_format... More>
  using with = any_format<Formats..., More...>;

  /// The format that the options name. Throws errc::unsupported where it is none of the list, and
  /// errc::invalid_argument for options that cannot be right.
  [[nodiscard]] static source_format open(options about) {
    if (about.shard_bytes.value < 16 || about.max_row_bytes.value == 0)
      throw error(errc::invalid_argument,
                  "shard_bytes is at least 16 and max_row_bytes at least 1");
    require_text(about.format, "format");
    require_text(about.files, "files");
    require_text(about.null_value.value_or(""), "null_value");
    for (const column& each : about.columns)
      for (const std::string* text : {&each.name, &each.encoding, &each.pointer})
        require_text(*text, "columns");
    std::optional<source_format> out;
    std::string known;
    ((known += (known.empty() ? "" : ", ") + std::string(Formats::name)), ...);
    (void)((about.format == Formats::name && (out.emplace(make<Formats>(about), about), true)) ||
           ...);
    if (!out)
      throw error(errc::unsupported,
                  "format \"" + about.format + "\" is not among the policies' formats: " + known);
    return *std::move(out);
  }

 private:
  template <class F>
  static F make(const options& about) {
    if constexpr (std::constructible_from<F, const options&>)
      return F(about);
    else
      return F();
  }

  /// A row index holds the options as JSON.
  static void require_text(std::string_view text, const char* option) {
    if (mdstream::detail::first_invalid_utf8(text) != text.size())
      throw error(errc::invalid_argument, "the option " + std::string(option) + " is not UTF-8");
  }
};

}  // namespace mdstream::inline v0::raw

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/format.ipp>
#endif
