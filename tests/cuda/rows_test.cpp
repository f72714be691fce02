#include <mdstream/cuda/rows.cuh>

#include <mdstream/cuda/shuffle_buffer.cuh>
#include <mdstream/cuda/word.cuh>

#include "cuda/batches.hpp"
#include "cuda/sinks.hpp"
#include "support/catch.hpp"

#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace cuda_rows_test {

using batches::memory;
namespace kernels = mdstream::kernels;

/// A table whose bytes tell where they are.
memory table_of(std::uint64_t rows, std::uint64_t row_bytes) {
  memory out(rows * row_bytes);
  for (std::uint64_t i = 0; i < rows * row_bytes; ++i)
    out.data()[i] = static_cast<std::byte>(mdstream::detail::mix_bits(i));
  return out;
}

template <class Sink>
void check_gather(std::uint64_t rows, std::uint64_t row_bytes) {
  INFO(rows << " rows of " << row_bytes << " bytes, " << Sink::bytes << " at a time");
  const memory table = table_of(rows, row_bytes);
  std::vector<std::int64_t> ids{0,         static_cast<std::int64_t>(rows) - 1,
                                -1,        static_cast<std::int64_t>(rows),
                                INT64_MAX, INT64_MIN};
  for (std::uint64_t i = 0; i < 300; ++i)
    ids.push_back(static_cast<std::int64_t>(mdstream::detail::mix_bits(i) % rows));
  const memory out(ids.size() * row_bytes);
  kernels::gather_rows<Sink>({table.data(), rows, row_bytes}, ids.data(), ids.size(), out.data());
  for (std::uint64_t k = 0; k < ids.size(); ++k) {
    const auto row = static_cast<std::uint64_t>(ids[k]);
    const std::byte* const made = out.data() + k * row_bytes;
    const bool zeros = std::all_of(made, made + row_bytes, [](auto x) { return x == std::byte{}; });
    if (row >= rows)
      REQUIRE(zeros);
    else
      REQUIRE(std::memcmp(made, table.data() + row * row_bytes, row_bytes) == 0);
  }
}

}  // namespace cuda_rows_test

using namespace cuda_rows_test;

TEST_CASE("words are made of bytes at any address", "[cuda]") {
  const memory table = table_of(1, 64);
  for (unsigned offset = 0; offset < 16; ++offset)
    for (unsigned count = 1; count <= 16; ++count) {
      INFO(count << " bytes from byte " << offset << " on");
      const memory made(32);
      kernels::store_word(made.data(), kernels::load_word(table.data() + offset, count), 16);
      REQUIRE(std::memcmp(made.data(), table.data() + offset, count) == 0);
      for (unsigned i = count; i < 16; ++i) REQUIRE(made.data()[i] == std::byte{});
      // Up, and no farther than asked for.
      const kernels::word up = kernels::shifted_up(kernels::load_word(table.data(), count), offset);
      kernels::store_word(made.data(), up, count);
      for (unsigned i = 0; i < count; ++i)
        REQUIRE(made.data()[i] == (i < offset ? std::byte{} : table.data()[i - offset]));
    }
}

TEST_CASE("rows are gathered by number; numbers of no row give zeros", "[cuda]") {
  for (const std::uint64_t rows : {1U, 2U, 77U})
    for (const std::uint64_t bytes : {1U, 3U, 8U, 15U, 16U, 17U, 40U, 64U, 1000U}) {
      check_gather<kernels::word_sink>(rows, bytes);
      check_gather<sinks::few_threads>(rows, bytes);
      check_gather<kernels::memory_sink>(rows, bytes);
    }
}

TEST_CASE("a table is permuted as keyed_permutation says, part by part", "[cuda]") {
  const std::uint64_t rows = 1000, bytes = 6;
  const memory table = table_of(rows, bytes);
  const mdstream::detail::keyed_permutation order(rows, 99);
  for (std::uint64_t first = 0; first < rows; first += 300) {
    const std::uint64_t count = std::min<std::uint64_t>(300, rows - first);
    const memory out(count * bytes);
    std::vector<std::int64_t> ids(count);
    kernels::permute_rows({table.data(), rows, bytes}, order, first, count, ids.data(), out.data());
    for (std::uint64_t k = 0; k < count; ++k)
      REQUIRE(std::memcmp(out.data() + k * bytes, table.data() + order(first + k) * bytes, bytes) ==
              0);
  }
}

TEST_CASE("every row comes to every place equally often", "[cuda][statistics]") {
  constexpr std::uint64_t rows = 16, keys = 20000;
  const memory table = table_of(rows, 1);
  std::vector<double> seen(rows * rows);
  std::vector<std::int64_t> ids(rows);
  const memory out(rows);
  for (std::uint64_t key = 0; key < keys; ++key) {
    kernels::permute_rows(
        {table.data(), rows, 1},
        mdstream::detail::keyed_permutation(rows, mdstream::detail::derive_key(key, 0)), 0, rows,
        ids.data(), out.data());
    for (std::uint64_t k = 0; k < rows; ++k)
      seen[k * rows + static_cast<std::uint64_t>(ids[k])] += 1;
  }
  double chi_square = 0;
  const double expected = static_cast<double>(keys) / rows;
  for (const double count : seen) chi_square += (count - expected) * (count - expected) / expected;
  const double freedom = (rows - 1) * (rows - 1);
  CHECK(std::abs(chi_square - freedom) < 5 * std::sqrt(2 * freedom));
}

TEST_CASE("the shuffle buffer's memory gives each row where the buffer says", "[cuda]") {
  for (const std::uint64_t batch : {1U, 7U, 32U}) {
    const std::uint64_t samples = 500, bytes = 12;
    mdstream::shuffle::buffer buffer({.samples = samples, .size = 90, .batch = batch, .seed = 4});
    const memory source = table_of(samples, bytes), waiting(buffer.slots() * bytes);
    const kernels::buffer_memory rows{waiting.data(), buffer.slots(), bytes};
    const mdstream::detail::windowed_permutation order = [&] {
      auto probe = buffer;
      while (probe.drawable() == 0) (void)probe.put(batch, "");
      return probe.draw(0).order;
    }();
    std::uint64_t put = 0, drawn = 0;
    while (!buffer.at_end()) {
      if (const std::uint64_t count = std::min<std::uint64_t>(buffer.drawable(), 13); count > 0) {
        const memory out(count * bytes);
        std::vector<std::int64_t> ids(count);
        kernels::draw_rows(rows, buffer.draw(count), ids.data(), out.data());
        for (std::uint64_t k = 0; k < count; ++k, ++drawn)
          REQUIRE(std::memcmp(out.data() + k * bytes, source.data() + order(drawn) * bytes,
                              bytes) == 0);
      } else {
        const std::uint64_t next = std::min(batch, samples - put);
        kernels::put_rows(rows, buffer.put(next, "state"), source.data() + put * bytes);
        put += next;
      }
    }
    CHECK(drawn == samples);
  }
}

TEST_CASE("rows lie beyond the four billionth byte and element", "[cuda]") {
  // Pages that nobody touches take no memory.
  constexpr std::uint64_t rows = (std::uint64_t{1} << 32) + 100, row_bytes = 3;
  void* const mapped = mmap(nullptr, rows * row_bytes + 16, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  auto* const table = static_cast<std::byte*>(mapped);
  std::vector<std::int64_t> ids{(std::int64_t{1} << 31) + 1, (std::int64_t{1} << 32) + 99, 5};
  for (std::size_t k = 0; k < ids.size(); ++k)
    std::memset(table + static_cast<std::uint64_t>(ids[k]) * row_bytes, static_cast<int>(k) + 1,
                row_bytes);
  const memory out(ids.size() * row_bytes);
  kernels::gather_rows<kernels::word_sink>({table, rows, row_bytes}, ids.data(), 3, out.data());
  for (std::size_t k = 0; k < 9; ++k) CHECK(static_cast<std::size_t>(out.data()[k]) == k / 3 + 1);
  kernels::gather_rows<kernels::memory_sink>({table, rows, row_bytes}, ids.data(), 3, out.data());
  for (std::size_t k = 0; k < 9; ++k) CHECK(static_cast<std::size_t>(out.data()[k]) == k / 3 + 1);
  munmap(mapped, rows * row_bytes + 16);
}
