#pragma once

// Files of pyarrow, and others that Arrow makes here.

#include <mdstream/raw/formats.hpp>
#include <mdstream/raw/parquet.hpp>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <parquet/arrow/writer.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "raw/raw_source.hpp"
#include "support/catch.hpp"
#include "support/golden_file.hpp"

namespace parquet_test {

namespace mds = mdstream;
namespace raw = mdstream::raw;

using formats = raw::plain_formats::with<raw::parquet>;

inline std::string golden(const std::string& name) {
  std::ifstream in(support::golden_file("raw/" + name), std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The bytes of a file with these columns.
inline std::string file_of(
    const std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>>& columns,
    std::int64_t group_rows) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, values] : columns) {
    fields.push_back(arrow::field(name, values->type(), false));
    arrays.push_back(values);
  }
  const auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  PARQUET_THROW_NOT_OK(
      parquet::arrow::WriteTable(*arrow::Table::Make(arrow::schema(fields), arrays),
                                 arrow::default_memory_pool(), out, group_rows));
  return out->Finish().ValueOrDie()->ToString();
}

/// Counts from `first` on.
inline std::shared_ptr<arrow::Array> count_from(std::int64_t first, std::int64_t rows) {
  arrow::Int64Builder out;
  for (std::int64_t i = first; i < first + rows; ++i) PARQUET_THROW_NOT_OK(out.Append(i));
  return out.Finish().ValueOrDie();
}

template <class Make>
std::shared_ptr<arrow::Array> texts(std::int64_t rows, const Make& make) {
  arrow::StringBuilder out;
  for (std::int64_t i = 0; i < rows; ++i) PARQUET_THROW_NOT_OK(out.Append(make(i)));
  return out.Finish().ValueOrDie();
}

/// A file with the columns `n: int64`, counted from `first` on, and `text: string`.
inline std::string numbers(std::int64_t first, std::int64_t rows, std::int64_t group_rows) {
  return file_of(
      {{"n", count_from(first, rows)},
       {"text", texts(rows, [&](std::int64_t i) { return "row " + std::to_string(first + i); })}},
      group_rows);
}

/// A row group of 1,000 rows: `n` counted from 0 on, `text` of so many bytes in all, `last`.
inline std::string wide(std::uint64_t bytes) {
  std::mt19937_64 random(1);
  const auto noise = [&](std::int64_t) {
    std::string out(bytes / 1000, ' ');
    for (char& c : out) c = static_cast<char>(random() % 128);
    return out;
  };
  return file_of(
      {{"n", count_from(0, 1000)}, {"text", texts(1000, noise)}, {"last", count_from(7, 1000)}},
      1000);
}

struct rows {
  raw::detail::row_index index;
  std::vector<std::string> samples;
};

/// `most`: bytes of a window.
inline rows read(const raw_test::source& objects, raw::options about = {},
                 std::size_t most = std::size_t{1} << 20) {
  about.format = "parquet";
  const raw::source_format format = formats::open(std::move(about));
  rows out{raw_test::index_of(format, objects, most), {}};
  out.samples = raw_test::rows_of(format, out.index, objects);
  return out;
}

}  // namespace parquet_test
