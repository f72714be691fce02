#pragma once

/// Rows of equal size out of a table that lies on the device, in another order: a data set that is
/// small enough to stay there, or the memory of `shuffle::buffer`.

#include <mdstream/core/detail/divisor.hpp>
#include <mdstream/cuda/execution.cuh>
#include <mdstream/cuda/sink.cuh>
#include <mdstream/order/detail/keyed_permutation.hpp>

#include <cstdint>
#include <type_traits>

namespace mdstream::inline v0::kernels {

/// `rows` rows of `row_bytes`, back to back, aligned to 16 and readable to a multiple of 16 bytes.
struct row_table {
  const std::byte* data = nullptr;
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;
};

/// Rows first, first + 1, … of a permutation.
template <class Permutation>
struct permuted_row {
  Permutation order;
  std::uint64_t first;
  std::int64_t* ids;

  MDSTREAM_HOST_DEVICE void operator()(std::int64_t k) const noexcept {
    ids[k] = static_cast<std::int64_t>(order(first + static_cast<std::uint64_t>(k)));
  }
};

/// Makes the pieces of the output that are dealt to a number.
template <class Sink>
class write_rows {
  using pieces = dealt<Sink, 8>;

 public:
  write_rows(const row_table& table, const std::int64_t* ids, std::byte* out,
             std::uint64_t bytes) noexcept
      : table_(table),
        ids_(ids),
        out_(out),
        bytes_(bytes),
        pieces_(bytes),
        by_row_(table.row_bytes) {}

  [[nodiscard]] std::uint64_t numbers() const noexcept { return pieces_.numbers(); }

  MDSTREAM_HOST_DEVICE void operator()(std::int64_t number) const noexcept {
    const std::uint64_t tile_end = pieces_.tile(number) + pieces_.tile_bytes();
    const std::uint64_t end = tile_end < bytes_ ? tile_end : bytes_;
    for (std::uint64_t at = pieces_.first(number); at < end; at += pieces::step)
      make(at, at + Sink::bytes < bytes_ ? at + Sink::bytes : bytes_);
  }

 private:
  MDSTREAM_HOST_DEVICE void make(std::uint64_t begin, std::uint64_t end) const noexcept {
    Sink sink(out_ + begin);
    auto [k, skip] = by_row_(begin);
    for (std::uint64_t at = begin; at < end; ++k, skip = 0) {
      const auto row = static_cast<std::uint64_t>(ids_[k]);  // a negative one is beyond any table
      const std::uint64_t left = table_.row_bytes - skip;
      const std::uint64_t count = left < end - at ? left : end - at;
      if (row < table_.rows)
        sink.copy(at - begin, table_.data + row * table_.row_bytes + skip, count);
      else
        sink.fill(at - begin, 0, count);
      at += count;
    }
    sink.finish(end - begin);
  }

  row_table table_;
  const std::int64_t* ids_;
  std::byte* out_;
  std::uint64_t bytes_;
  pieces pieces_;
  mdstream::detail::divisor by_row_;
};

/// A word of the output, where rows are whole words: it is one of the table, or zeros.
class write_word_rows {
 public:
  write_word_rows(const row_table& table, const std::int64_t* ids, std::byte* out) noexcept
      : table_(table), ids_(ids), out_(out), by_row_(words_of_row()) {}

  [[nodiscard]] std::uint64_t words_of_row() const noexcept {
    return table_.row_bytes / sizeof(word);
  }

  MDSTREAM_HOST_DEVICE void operator()(std::int64_t number) const noexcept {
    const auto [k, skip] = by_row_(static_cast<std::uint64_t>(number));
    const auto row = static_cast<std::uint64_t>(ids_[k]);  // a negative one is beyond any table
    word x{};
    if (row < table_.rows)
      x = load_some(table_.data + row * table_.row_bytes + skip * sizeof(word), sizeof(word));
    store_word(out_ + static_cast<std::uint64_t>(number) * sizeof(word), x, sizeof(word));
  }

 private:
  row_table table_;
  const std::int64_t* ids_;
  std::byte* out_;
  mdstream::detail::divisor by_row_;
};

/// Row `k` of the output, which is aligned to 16, is row `ids[k]` of the table, for `count` rows.
/// Negative ids, which pad the last batches of an epoch, and those beyond the table give zeros. One
/// kernel.
template <class Sink = default_sink>
void gather_rows(const row_table& table, const std::int64_t* ids, std::uint64_t count,
                 std::byte* out, stage::stream_handle stream = nullptr) {
  const std::uint64_t bytes = count * table.row_bytes;
  if (bytes == 0) return;
  if (std::is_same_v<Sink, word_sink> && table.row_bytes % sizeof(word) == 0)
    return for_each_index(stream, bytes / sizeof(word), write_word_rows(table, ids, out));
  const write_rows<Sink> rows(table, ids, out, bytes);
  for_each_index(stream, rows.numbers(), rows);
}

/// Rows [first, first + count) of the table permuted by `order`. `ids` is room for `count` numbers,
/// which are left there. Two kernels.
/// Precondition: first + count <= order.size() == table.rows.
template <class Sink = default_sink>
void permute_rows(const row_table& table, const mdstream::detail::keyed_permutation& order,
                  std::uint64_t first, std::uint64_t count, std::int64_t* ids, std::byte* out,
                  stage::stream_handle stream = nullptr) {
  for_each_index(stream, count,
                 permuted_row<mdstream::detail::keyed_permutation>{order, first, ids});
  gather_rows<Sink>(table, ids, count, out, stream);
}

}  // namespace mdstream::inline v0::kernels
