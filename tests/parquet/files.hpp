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
#include <string>
#include <utility>

#include "raw/raw_source.hpp"
#include "support/catch.hpp"

namespace parquet_test {

namespace mds = mdstream;
namespace raw = mdstream::raw;

using formats = raw::plain_formats::with<raw::parquet>;

inline std::string golden(const std::string& name) {
  std::ifstream in(MDSTREAM_TEST_DATA "/golden/raw/" + name, std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A file with the columns `n: int64`, counted from `first` on, and `text: string`.
inline std::string numbers(std::int64_t first, std::int64_t rows, std::int64_t group_rows) {
  arrow::Int64Builder n;
  arrow::StringBuilder text;
  for (std::int64_t i = first; i < first + rows; ++i) {
    PARQUET_THROW_NOT_OK(n.Append(i));
    PARQUET_THROW_NOT_OK(text.Append("row " + std::to_string(i)));
  }
  const auto table = arrow::Table::Make(arrow::schema({arrow::field("n", arrow::int64(), false),
                                                       arrow::field("text", arrow::utf8(), false)}),
                                        {n.Finish().ValueOrDie(), text.Finish().ValueOrDie()});
  const auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  PARQUET_THROW_NOT_OK(
      parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, group_rows));
  return out->Finish().ValueOrDie()->ToString();
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
