#pragma once

/// Cuts an object into virtual shards: asks for its bytes, range by range, and gives its cuts.

#include <mdstream/raw/detail/object_entries.hpp>
#include <mdstream/raw/format.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw::detail {

/// What was found in an object, or in a stretch of it.
struct object_cuts {
  std::vector<cut> cuts{};
  std::string note{};  ///< what the format has to know of the object
  /// Of a compressed object, where they were looked for.
  std::optional<object_entries> entries{};

  friend bool operator==(const object_cuts&, const object_cuts&) = default;
};

/// Cuts one object, or the stretch [from, to) of it: the samples that begin there. The result does
/// not depend on how the bytes are fed. What is wanted next may lie before what was fed, of formats
/// that read an object's end. Not for two threads at once.
///
///     object_cutter cutter(format, key, size);
///     while (const auto wanted = cutter.next())
///       cutter.feed(bytes_of(key, *wanted), is_end);
///     object_cuts found = cutter.finish();
class object_cutter {
 public:
  static constexpr std::uint64_t window_bytes = std::uint64_t{1} << 20;
  static constexpr std::uint64_t first_tail_bytes = std::uint64_t{1} << 16;

  /// All of the object. `key` is what errors name; `object_bytes`: of all of it, where it is known.
  object_cutter(const source_format& format, std::string key,
                std::optional<std::uint64_t> object_bytes);

  /// The stretch [from, to); see `stretches`.
  object_cutter(const source_format& format, std::string key,
                std::optional<std::uint64_t> object_bytes, std::uint64_t from, std::uint64_t to);

  /// The bytes it needs next; nothing where it is done. The object may end before.
  [[nodiscard]] std::optional<byte_range> next() const;

  /// Takes bytes from `next()->offset` on, at best as many as wanted; `last`: the object ends with
  /// them. Where `next()` gives the same offset again, they were too few, and the next ones have to
  /// be more. Throws what the format refuses, naming object and byte.
  void feed(bytes_view bytes, bool last);

  /// What was found so far; the last cut may grow.
  [[nodiscard]] const std::vector<cut>& cuts() { return sink_.cuts(); }
  [[nodiscard]] const std::string& note() const noexcept { return sink_.note(); }

  /// What was found. Precondition: `next()` is nothing.
  [[nodiscard]] object_cuts finish() { return {.cuts = sink_.finish(), .note = sink_.note()}; }

 private:
  void take(const window& in);

  /// Of a format that reads the object's end.
  void take_tail(const window& in);

  static void check_end(const window& in, std::uint64_t used);

  /// Nothing of the window could be used: it holds less than a row.
  void grow(const window& in);

  std::unique_ptr<detail::erased_format> format_;
  cut_sink sink_;
  std::uint64_t max_row_bytes_;
  std::string key_;
  std::optional<std::uint64_t> object_bytes_;
  std::uint64_t at_;
  std::uint64_t wanted_ = window_bytes;
  std::optional<std::size_t> tried_{};  // bytes from at_ on, which were too few
  bool aligned_;
  bool done_ = false;
};

/// Cuts an object that lies in memory.
[[nodiscard]] object_cuts cut_object(const source_format& format, std::string key,
                                     bytes_view bytes);

/// The columns that an object's first rows have. No rows: more bytes are needed, unless the
/// object ends with them. Throws what the format refuses, naming object and byte.
[[nodiscard]] column_inference infer_columns(const source_format& format, std::string_view key,
                                             const window& in);

/// How many stretches of an object of so many plain bytes can be cut in parallel: stretch k is
/// [k, k + 1) times `shard_bytes`. 1 where the format has to begin at the object's beginning.
[[nodiscard]] std::uint64_t stretches(const source_format& format, std::uint64_t bytes);

/// The cuts of an object from those of its stretches, in their order.
[[nodiscard]] object_cuts join_stretches(std::vector<object_cuts> found);

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/object_cutter.ipp>
#endif
