#pragma once

/// Rows of equal size out of a table that lies on the device, in another order: a data set that is
/// small enough to stay there, or the pool of `shuffle::pool`.

#include <mdstream/cuda/execution.cuh>
#include <mdstream/cuda/sink.cuh>
#include <mdstream/order/keyed_permutation.hpp>

#include <cstdint>

namespace mdstream::inline v0::kernels {

/// `rows` rows of `row_bytes`, back to back, aligned to 16 and readable to a multiple of 16 bytes.
struct row_table {
  const std::byte* data = nullptr;
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;
};

/// Rows first, first + 1, … of a permutation, reduced to a ring of rows.
template <class Permutation>
struct permuted_row {
  Permutation order;
  std::uint64_t first;
  std::uint64_t ring;
  std::int64_t* ids;

  MDSTREAM_HOST_DEVICE void operator()(std::int64_t k) const noexcept {
    ids[k] = static_cast<std::int64_t>(order(first + static_cast<std::uint64_t>(k)) % ring);
  }
};

/// Makes `Sink::bytes` of the output.
template <class Sink>
class write_rows {
 public:
  write_rows(const row_table& table, const std::int64_t* ids, std::byte* out,
             std::uint64_t bytes) noexcept
      : table_(table), ids_(ids), out_(out), bytes_(bytes) {}

  MDSTREAM_HOST_DEVICE void operator()(std::int64_t number) const noexcept {
    const std::uint64_t begin = static_cast<std::uint64_t>(number) * Sink::bytes;
    const std::uint64_t end = bytes_ - begin < Sink::bytes ? bytes_ : begin + Sink::bytes;
    Sink sink(out_ + begin);
    std::uint64_t k = begin / table_.row_bytes, skip = begin % table_.row_bytes;
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

 private:
  row_table table_;
  const std::int64_t* ids_;
  std::byte* out_;
  std::uint64_t bytes_;
};

/// Row `k` of the output, which is aligned to 16, is row `ids[k]` of the table, for `count` rows.
/// Negative ids, which pad the last batches of an epoch, and those beyond the table give zeros. One
/// kernel.
template <class Sink = default_sink>
void gather_rows(const row_table& table, const std::int64_t* ids, std::uint64_t count,
                 std::byte* out, stage::stream_handle stream = nullptr) {
  const std::uint64_t bytes = count * table.row_bytes;
  for_each_index(stream, bytes / Sink::bytes + (bytes % Sink::bytes != 0 ? 1 : 0),
                 write_rows<Sink>(table, ids, out, bytes));
}

/// Rows [first, first + count) of the table permuted by `order`. `ids` is room for `count` numbers,
/// which are left there. Two kernels.
/// Precondition: first + count <= order.size() == table.rows.
template <class Sink = default_sink>
void permute_rows(const row_table& table, const keyed_permutation& order, std::uint64_t first,
                  std::uint64_t count, std::int64_t* ids, std::byte* out,
                  stage::stream_handle stream = nullptr) {
  for_each_index(stream, count,
                 permuted_row<keyed_permutation>{order, first, ~std::uint64_t{0}, ids});
  gather_rows<Sink>(table, ids, count, out, stream);
}

}  // namespace mdstream::inline v0::kernels
