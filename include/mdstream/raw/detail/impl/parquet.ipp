#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/format/detail/mds_shard_builder.hpp>
#include <mdstream/raw/detail/arrow_values.hpp>
#include <mdstream/raw/detail/json_row.hpp>
#include <mdstream/raw/parquet.hpp>
#include <mdstream/version.hpp>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace mdstream::inline v0::raw::detail {

[[noreturn]] MDSTREAM_INLINE void fail_parquet(std::uint64_t byte, std::string what,
                                               errc code = errc::corrupt) {
  throw error(code, diagnostics{.what = std::move(what), .byte = byte});
}

[[noreturn]] MDSTREAM_INLINE void fail_arrow(std::uint64_t byte, const std::exception& e,
                                             errc code = errc::corrupt) {
  const std::string_view text = e.what();
  throw error(code, diagnostics{.what = "the Parquet file cannot be read",
                                .byte = byte,
                                .cause = std::string(text.substr(0, text.find('\n')))});
}

/// Runs `f`. What Arrow throws is an error that names the byte.
template <class F>
void by_arrow(std::uint64_t byte, F&& f) {
  try {
    std::forward<F>(f)();
  } catch (const error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const ::parquet::ParquetStatusException& e) {
    if (e.status().IsOutOfMemory()) throw std::bad_alloc();
    fail_arrow(byte, e, e.status().IsNotImplemented() ? errc::unsupported : errc::corrupt);
  } catch (const std::exception& e) {
    fail_arrow(byte, e);
  }
}

/// The row groups of a cut and where their columns lie: what its `extra` tells.
struct parquet_cut {
  /// Columns of one cut are read together where they are no further apart: to skip less takes
  /// longer than to read it.
  static constexpr std::uint64_t gap_bytes = std::uint64_t{1} << 20;

  std::uint64_t first = 0, end = 0;  // row groups
  std::uint64_t footer = 0, object_bytes = 0;
  std::vector<byte_range> runs{};  // of columns, sorted; at least one

  static parquet_cut of(std::span<const std::uint64_t> extra) {
    const auto refuse = [] {
      throw error(errc::corrupt, "the cut of a Parquet file does not tell its row groups");
    };
    if (extra.size() < 6 || extra.size() % 2 != 0 || extra[0] >= extra[1] ||
        extra[1] > std::uint64_t{1} << 31 || extra[4] >= extra[5])
      refuse();
    parquet_cut out{extra[0], extra[1], extra[4], extra[5], {}};
    std::uint64_t at = 0;
    for (std::size_t i = 2; i < extra.size(); i += i == 2 ? 4 : 2) {
      if (extra[i] < at || extra[i] >= extra[i + 1] || extra[i + 1] > out.object_bytes) refuse();
      at = extra[i + 1];
      out.runs.push_back({extra[i], at - extra[i]});
    }
    return out;
  }

  /// The first run lies before footer and object, the others behind. Precondition: `join_runs`.
  [[nodiscard]] std::vector<std::uint64_t> extra() const {
    const auto end_of = [](const byte_range& each) { return each.offset + each.bytes; };
    std::vector<std::uint64_t> out{first,  end,         runs.front().offset, end_of(runs.front()),
                                   footer, object_bytes};
    for (const byte_range& each : std::span(runs).subspan(1)) {
      out.push_back(each.offset);
      out.push_back(end_of(each));
    }
    return out;
  }

  /// Makes runs of the columns' places, which were added in any order.
  void join_runs() {
    std::erase_if(runs, [](const byte_range& each) { return each.bytes == 0; });
    if (runs.empty()) fail_parquet(footer, "the footer has row groups without data");
    std::ranges::sort(runs, {}, &byte_range::offset);
    std::size_t last = 0;
    std::uint64_t bytes = 0;
    for (const byte_range& each : std::span(runs).subspan(1)) {
      byte_range& before = runs[last];
      const std::uint64_t before_end = before.offset + before.bytes;
      if (each.offset > before_end && each.offset - before_end > gap_bytes)
        runs[++last] = each;
      else
        before.bytes = std::max(before_end, each.offset + each.bytes) - before.offset;
    }
    runs.resize(last + 1);
    for (const byte_range& each : runs) bytes += each.bytes;
    if (bytes > mdstream::detail::mds_shard_builder::max_bytes)
      fail_parquet(footer,
                   "the row groups from " + std::to_string(first) + " on have " +
                       std::to_string(bytes) +
                       " bytes in the file, which is too large for a shard: write smaller ones",
                   errc::unsupported);
  }
};

/// Where a column of a row group lies.
MDSTREAM_INLINE byte_range chunk_of(const ::parquet::ColumnChunkMetaData& column,
                                    std::uint64_t footer) {
  if (!column.file_path().empty())
    fail_parquet(footer, "a column lies in another file", errc::unsupported);
  std::int64_t from = column.data_page_offset();
  if (column.has_dictionary_page() && column.dictionary_page_offset() > 0)
    from = std::min(from, column.dictionary_page_offset());
  const std::int64_t size = column.total_compressed_size();
  if (from < 0 || size < 0 || static_cast<std::uint64_t>(from) > footer ||
      static_cast<std::uint64_t>(size) > footer - static_cast<std::uint64_t>(from))
    fail_parquet(footer, "the footer has a column that reaches beyond the file's data");
  // Some old writers count a few bytes too little for a column; Arrow reads as many more.
  const auto begin = static_cast<std::uint64_t>(from);
  return {begin, std::min(begin + static_cast<std::uint64_t>(size) + 100, footer) - begin};
}

/// Walks through the values of a footer (Thrift's compact protocol) and counts how deep its schema
/// nests, which Arrow follows by recursion however deep it is.
class schema_depth {
 public:
  static constexpr std::uint64_t most = 200;

  /// Throws errc::unsupported for a schema that is nested deeper, errc::corrupt for what ends
  /// early.
  static void check(bytes_view footer) {
    schema_depth in(footer);
    in.for_each_field([&](std::uint64_t field, unsigned type) {
      field == 2 && type == list ? in.read_schema() : in.skip(type, 0);
    });
  }

 private:
  enum : unsigned { byte = 3, real = 7, binary = 8, list = 9, set = 10, map = 11, structure = 12 };

  explicit schema_depth(bytes_view footer) : rest_(footer) {}

  std::uint64_t next() {
    if (rest_.empty()) throw error(errc::corrupt, "the footer is cut short");
    const auto out = static_cast<std::uint64_t>(rest_.front());
    rest_ = rest_.subspan(1);
    return out;
  }
  std::uint64_t number() {
    std::uint64_t out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint64_t part = next();
      out |= (part & 127) << shift;
      if (part < 128) return out;
    }
    throw error(errc::corrupt, "the footer has a number that does not end");
  }
  std::uint64_t zigzag() {
    const std::uint64_t coded = number();
    return (coded >> 1) ^ (0 - (coded & 1));
  }
  void jump(std::uint64_t bytes) {
    if (bytes > rest_.size()) throw error(errc::corrupt, "the footer is cut short");
    rest_ = rest_.subspan(static_cast<std::size_t>(bytes));
  }

  template <class Use>
  void for_each_field(Use&& use) {
    std::uint64_t field = 0;
    while (const std::uint64_t head = next()) {
      field = head >> 4 != 0 ? field + (head >> 4) : zigzag();
      use(field, static_cast<unsigned>(head & 15));
    }
  }

  /// Elements of a list, and their type.
  std::pair<std::uint64_t, unsigned> list_head() {
    const std::uint64_t head = next();
    return {head >> 4 == 15 ? number() : head >> 4, static_cast<unsigned>(head & 15)};
  }

  void skip(unsigned type, unsigned depth) {
    if (depth > 64) throw error(errc::corrupt, "the footer's values nest too deep");
    switch (type) {
      case byte: return jump(1);
      case real: return jump(8);
      case binary: return jump(number());
      case list:
      case set: {
        const auto [count, element] = list_head();
        for (std::uint64_t i = 0; i < count; ++i) skip_element(element, depth + 1);
        return;
      }
      case map: {
        const std::uint64_t count = number();
        const std::uint64_t types = count == 0 ? 0 : next();
        for (std::uint64_t i = 0; i < count; ++i) {
          skip_element(static_cast<unsigned>(types >> 4), depth + 1);
          skip_element(static_cast<unsigned>(types & 15), depth + 1);
        }
        return;
      }
      case structure:
        return for_each_field([&](std::uint64_t, unsigned of) { skip(of, depth + 1); });
      case 4:
      case 5:
      case 6: return void(number());
      case 1:
      case 2: return;  // the field's head tells which
      default: throw error(errc::corrupt, "the footer has a value of no type");
    }
  }
  /// Booleans have a byte of their own there.
  void skip_element(unsigned type, unsigned depth) {
    type == 1 || type == 2 ? jump(1) : skip(type, depth);
  }

  /// The elements come depth first, each with the number of its children.
  void read_schema() {
    const auto [count, type] = list_head();
    if (type != structure) throw error(errc::corrupt, "the footer's schema is none");
    std::vector<std::uint64_t> left;  // children to come, of each element that is open
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t children = 0;
      for_each_field([&](std::uint64_t field, unsigned of) {
        if (field == 5 && of == 5)
          children = zigzag();
        else
          skip(of, 0);
      });
      while (!left.empty() && left.back() == 0) left.pop_back();
      if (!left.empty()) --left.back();
      left.push_back(children);
      if (left.size() > most)
        throw error(errc::unsupported,
                    "the file's columns nest deeper than " + std::to_string(most) + " levels");
    }
  }

  bytes_view rest_;
};

/// The footer that the last bytes of an object have: all of it, up to the object's end.
MDSTREAM_INLINE std::shared_ptr<::parquet::FileMetaData> footer_of(bytes_view tail) {
  auto size = static_cast<std::uint32_t>(tail.size() - 8);
  schema_depth::check(tail.first(size));
  return ::parquet::FileMetaData::Make(tail.data(), &size);
}

/// The parts of a file that were read; what lies between is an error.
class file_of_parts final : public ::arrow::io::RandomAccessFile {
 public:
  file_of_parts(std::span<const part> parts, std::uint64_t size) : parts_(parts), size_(size) {}

  ::arrow::Status Close() override {
    closed_ = true;
    return ::arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  ::arrow::Result<std::int64_t> Tell() const override { return at_; }
  ::arrow::Status Seek(std::int64_t position) override {
    at_ = position;
    return ::arrow::Status::OK();
  }
  ::arrow::Result<std::int64_t> GetSize() override { return static_cast<std::int64_t>(size_); }
  ::arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t bytes,
                                       void* out) override {
    ARROW_ASSIGN_OR_RAISE(const bytes_view found, find(position, bytes));
    if (!found.empty()) std::memcpy(out, found.data(), found.size());
    return static_cast<std::int64_t>(found.size());
  }
  ::arrow::Result<std::shared_ptr<::arrow::Buffer>> ReadAt(std::int64_t position,
                                                           std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(const bytes_view found, find(position, bytes));
    return std::make_shared<::arrow::Buffer>(reinterpret_cast<const std::uint8_t*>(found.data()),
                                             static_cast<std::int64_t>(found.size()));
  }
  ::arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t got, ReadAt(at_, bytes, out));
    at_ += got;
    return got;
  }
  ::arrow::Result<std::shared_ptr<::arrow::Buffer>> Read(std::int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<::arrow::Buffer> got, ReadAt(at_, bytes));
    at_ += got->size();
    return got;
  }

 private:
  /// As many of the bytes as their part has.
  ::arrow::Result<bytes_view> find(std::int64_t position, std::int64_t bytes) const {
    for (const part& each : parts_) {
      const auto at = static_cast<std::uint64_t>(position) - each.offset;
      if (position >= 0 && bytes >= 0 && at < each.bytes.size())
        return each.bytes.subspan(static_cast<std::size_t>(at),
                                  static_cast<std::size_t>(std::min<std::uint64_t>(
                                      static_cast<std::uint64_t>(bytes), each.bytes.size() - at)));
    }
    return ::arrow::Status::IOError("bytes from ", position,
                                    " on do not belong to the row groups that are read");
  }

  std::span<const part> parts_;
  std::uint64_t size_;
  std::int64_t at_ = 0;
  bool closed_ = false;
};

/// What a row group has decoded; at most what a shard may have.
MDSTREAM_INLINE std::uint64_t plain_bytes_of(const ::parquet::RowGroupMetaData& group) {
  return std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(group.total_byte_size(), 0)),
                  mdstream::detail::mds_shard_builder::max_bytes);
}

/// Memory for what Arrow decodes, which pages of a few bytes may ask for in any amount: several
/// times what the row groups have decoded, and some large rows, but never more than a shard has.
class bounded_pool final : public ::arrow::ProxyMemoryPool {
 public:
  bounded_pool(std::uint64_t plain_bytes, std::uint64_t max_row_bytes)
      : ProxyMemoryPool(::arrow::default_memory_pool()) {
    constexpr std::uint64_t most = mdstream::detail::mds_shard_builder::max_bytes;
    most_ = static_cast<std::int64_t>(std::min(
        most, 8 * std::min(plain_bytes, most / 8) + 16 * std::min(max_row_bytes, most / 16)));
  }

  using ProxyMemoryPool::Allocate;
  using ProxyMemoryPool::Reallocate;

  ::arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    ARROW_RETURN_NOT_OK(admit(size));
    return ProxyMemoryPool::Allocate(size, alignment, out);
  }
  ::arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                             std::uint8_t** pointer) override {
    ARROW_RETURN_NOT_OK(admit(new_size - old_size));
    return ProxyMemoryPool::Reallocate(old_size, new_size, alignment, pointer);
  }

  /// Runs `f`. What Arrow throws for want of memory, in one way or another, is an error of the
  /// file's.
  template <class F>
  void explain(std::uint64_t byte, F&& f) const {
    try {
      std::forward<F>(f)();
    } catch (...) {
      if (!refused_) throw;
      fail_parquet(byte,
                   "decoding needs more than " + std::to_string(most_) +
                       " bytes of memory: the file is damaged, or its rows are larger than "
                       "max_row_bytes",
                   errc::unsupported);
    }
  }

 private:
  ::arrow::Status admit(std::int64_t more) {
    if (more <= most_ - bytes_allocated()) return ::arrow::Status::OK();
    refused_ = true;
    return ::arrow::Status::OutOfMemory("the bound of the shard's memory");
  }

  std::int64_t most_ = 0;
  bool refused_ = false;
};

/// Arrow decodes batches of rows that fit into the processor's cache, because the decoded values
/// are read once more, and so that its buffers do not have to grow.
MDSTREAM_INLINE ::parquet::ArrowReaderProperties arrow_properties(std::uint64_t plain_bytes = 0,
                                                                  std::uint64_t rows = 0) {
  constexpr std::uint64_t batch_bytes = std::uint64_t{256} << 10, most_rows = 1024;
  const std::uint64_t row_bytes = plain_bytes / std::max<std::uint64_t>(rows, 1) + 1;
  ::parquet::ArrowReaderProperties out(/*use_threads=*/false);
  out.set_pre_buffer(false);  // all bytes are in memory
  out.set_batch_size(
      static_cast<std::int64_t>(std::clamp<std::uint64_t>(batch_bytes / row_bytes, 16, most_rows)));
  out.set_arrow_extensions_enabled(true);  // tells JSON from other text
  return out;
}

/// The leaves of these columns, by number; all of them where the file has none of the columns.
MDSTREAM_INLINE std::vector<int> leaves_of(const ::parquet::SchemaDescriptor& schema,
                                           const std::vector<std::string>& columns) {
  std::vector<int> out, all;
  for (int i = 0; i < schema.num_columns(); ++i) {
    all.push_back(i);
    if (std::ranges::find(columns, schema.GetColumnRoot(i)->name()) != columns.end())
      out.push_back(i);
  }
  return out.empty() ? all : out;
}

/// Throws errc::corrupt where the file lacks one of the columns.
MDSTREAM_INLINE void require_file_columns(const ::parquet::SchemaDescriptor& schema,
                                          const std::vector<std::string>& columns,
                                          std::uint64_t footer) {
  for (const std::string& name : columns)
    if (schema.group_node()->FieldIndex(name) < 0)
      throw error(errc::corrupt,
                  diagnostics{.what = "the file has no column of that name, and null_value does "
                                      "not say what stands for it",
                              .column = name,
                              .byte = footer});
}

/// Makes samples of a file's rows, batch by batch.
class parquet_rows {
 public:
  parquet_rows(sample_sink& out, std::uint64_t byte, std::uint64_t max_row_bytes)
      : out_(out), byte_(byte), max_row_bytes_(max_row_bytes), arrays_(out.layout().size()) {}

  void add(const ::arrow::RecordBatch& batch) {
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      arrays_[i] = find(batch, out_.layout()[i].name);
    for (std::int64_t row = 0; row < batch.num_rows(); ++row)
      out_.row(byte_, [&] { add_row(row); });
  }

 private:
  [[nodiscard]] std::shared_ptr<::arrow::Array> find(const ::arrow::RecordBatch& batch,
                                                     const std::string& name) const {
    const std::vector<int> found = batch.schema()->GetAllFieldIndices(name);
    if (found.size() == 1) return batch.column(found.front());
    if (found.empty() && out_.null_value()) return nullptr;
    throw error(errc::corrupt,
                diagnostics{.what = found.empty() ? "the file has no column of that name"
                                                  : "the file has the column more than once",
                            .column = name,
                            .byte = byte_});
  }

  void add_row(std::int64_t row) {
    row_values& values = out_.values();
    values.clear();
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      if (arrays_[i] != nullptr && !arrays_[i]->IsNull(row))
        set_arrow_value(*arrays_[i], row, out_.layout(), i, values);
      else
        set_missing(i, values);
    }
    if (values.size() > max_row_bytes_)
      throw error(errc::unsupported, "a row of " + std::to_string(values.size()) +
                                         " bytes is larger than max_row_bytes, " +
                                         std::to_string(max_row_bytes_));
    out_.add_values();
  }

  void set_missing(std::size_t i, row_values& values) const {
    const column_layout& column = out_.layout()[i];
    if (out_.null_value())
      set_null_value(*out_.null_value(), out_.layout(), i, values);
    else if (column.type.kind == encoding_kind::json)
      values.set_value(i, std::string_view("null"));
    else
      throw error(errc::corrupt,
                  diagnostics{.what = "the value is null: say what stands for null (null_value), "
                                      "or take the column as json",
                              .column = column.name});
  }

  sample_sink& out_;
  std::uint64_t byte_, max_row_bytes_;
  std::vector<std::shared_ptr<::arrow::Array>> arrays_;
};

}  // namespace mdstream::inline v0::raw::detail

namespace mdstream::inline v0::raw {

MDSTREAM_INLINE parquet::parquet(const options& about)
    : max_row_bytes_(about.max_row_bytes.value), has_null_value_(about.null_value.has_value()) {
  for (const column& each : about.columns) columns_.push_back(each.name);
  if (about.skip_bad)
    throw error(errc::invalid_argument,
                "skip_bad: rows of Parquet files are not read to index them, so that none can be "
                "left out; null_value says what stands for null");
}

MDSTREAM_INLINE std::uint64_t parquet::tail_bytes(const window& in) {
  const std::uint64_t end = in.offset + in.bytes.size();
  if (end < 12) detail::fail_parquet(end, "the file is too short for one of Parquet");
  const std::string_view mark = in.text().substr(in.text().size() - 4);
  if (mark == "PARE") detail::fail_parquet(end - 4, "the file is encrypted", errc::unsupported);
  if (mark != "PAR1")
    detail::fail_parquet(end - 4,
                         "the file does not end as one of Parquet: it is cut short, or no "
                         "Parquet");
  const std::uint64_t footer = load<std::uint32_t>(in.bytes.data() + in.bytes.size() - 8);
  if (footer > end - 12)
    detail::fail_parquet(end - 8, "the file says that its footer has " + std::to_string(footer) +
                                      " bytes, which is more than it has");
  return footer + 8;
}

MDSTREAM_INLINE std::vector<byte_range> parquet::ranges(const raw::cut& of) {
  auto cut = detail::parquet_cut::of(of.extra);
  cut.runs.push_back({cut.footer, cut.object_bytes - cut.footer});
  return std::move(cut.runs);
}

MDSTREAM_INLINE std::uint64_t parquet::cut(const window& in, cut_sink& out) const {
  const std::uint64_t object_bytes = in.offset + in.bytes.size();
  const std::uint64_t footer = object_bytes - tail_bytes(in);
  detail::by_arrow(footer, [&] {
    const auto file =
        detail::footer_of(in.bytes.subspan(static_cast<std::size_t>(footer - in.offset)));
    if (!has_null_value_) detail::require_file_columns(*file->schema(), columns_, footer);
    const std::vector<int> leaves = detail::leaves_of(*file->schema(), columns_);
    std::vector<detail::parquet_cut> found;
    std::int64_t rows = 0;
    std::uint64_t at = 0;  // among the decoded bytes of all row groups
    for (int i = 0; i < file->num_row_groups(); ++i) {
      const auto group = file->RowGroup(i);
      const std::int64_t count = group->num_rows(), bytes = group->total_byte_size();
      if (count < 0 || bytes < 0 || __builtin_add_overflow(rows, count, &rows))
        detail::fail_parquet(footer, "the footer's row group " + std::to_string(i) + " has " +
                                         std::to_string(count) + " rows and " +
                                         std::to_string(bytes) + " bytes");
      if (count == 0) continue;
      const auto plain = static_cast<std::uint64_t>(bytes);
      if (plain > mdstream::detail::mds_shard_builder::max_bytes)
        detail::fail_parquet(footer,
                             "row group " + std::to_string(i) + " has " + std::to_string(bytes) +
                                 " bytes, which is too large for a shard: write smaller ones",
                             errc::unsupported);
      std::vector<byte_range> chunks;
      std::uint64_t wanted = 0;  // of the decoded bytes, those of the columns that are read
      for (const int leaf : leaves) {
        const auto column = group->ColumnChunk(leaf);
        chunks.push_back(detail::chunk_of(*column, footer));
        wanted += static_cast<std::uint64_t>(
            std::clamp<std::int64_t>(column->total_uncompressed_size(), 0, bytes));
      }
      if (!out.group(at, std::min(wanted, plain), static_cast<std::uint64_t>(count))) break;
      at += plain;
      const auto number = static_cast<std::uint64_t>(i);
      if (found.size() < out.cuts().size())
        found.push_back({number, number, footer, object_bytes, {}});
      found.back().end = number + 1;
      std::ranges::move(chunks, std::back_inserter(found.back().runs));
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      found[i].join_runs();
      out.cuts()[i].extra = found[i].extra();
    }
    if (rows != file->num_rows())
      detail::fail_parquet(footer, "the footer says that there are " +
                                       std::to_string(file->num_rows()) +
                                       " rows, but its row groups have " + std::to_string(rows));
  });
  return 0;
}

MDSTREAM_INLINE void parquet::infer(const window& in, detail::column_inference& out) const {
  const std::uint64_t tail = tail_bytes(in);
  const std::uint64_t footer = in.offset + in.bytes.size() - tail;
  detail::by_arrow(footer, [&] {
    const auto file = detail::footer_of(in.bytes.last(static_cast<std::size_t>(tail)));
    std::shared_ptr<::arrow::Schema> schema;
    PARQUET_THROW_NOT_OK(::parquet::arrow::FromParquetSchema(
        file->schema(), detail::arrow_properties(), file->key_value_metadata(), &schema));
    out.add_row();
    for (const std::shared_ptr<::arrow::Field>& field : schema->fields())
      out.add(field->name(), detail::encoding_of_arrow(*field->type()));
  });
}

MDSTREAM_INLINE void parquet::transcode(const cut_source& in, detail::sample_sink& out) const {
  const auto cut = detail::parquet_cut::of(in.extra);
  const std::uint64_t begin = cut.runs.front().offset;
  if (in.parts.size() != cut.runs.size() + 1 || in.parts.back().bytes.size() < 8)
    detail::fail_parquet(begin, "the cut of a Parquet file lacks the footer");
  detail::by_arrow(begin, [&] {
    const auto metadata = detail::footer_of(in.parts.back().bytes);
    if (cut.end > static_cast<std::uint64_t>(metadata->num_row_groups()))
      detail::fail_parquet(cut.footer, "the index has row groups that the file lacks");
    std::vector<int> groups;
    std::uint64_t plain = 0, count = 0;
    for (std::uint64_t i = cut.first; i < cut.end; ++i) {
      groups.push_back(static_cast<int>(i));
      const auto group = metadata->RowGroup(groups.back());
      plain += detail::plain_bytes_of(*group);
      count += static_cast<std::uint64_t>(std::max<std::int64_t>(group->num_rows(), 0));
    }
    std::vector<std::string> names;
    for (const column_layout& each : out.layout().columns()) names.push_back(each.name);
    const std::vector<int> leaves = detail::leaves_of(*metadata->schema(), names);
    detail::bounded_pool pool(plain, max_row_bytes_);
    pool.explain(begin, [&] {
      ::parquet::arrow::FileReaderBuilder builder;
      PARQUET_THROW_NOT_OK(
          builder.Open(std::make_shared<detail::file_of_parts>(in.parts, cut.object_bytes),
                       ::parquet::ReaderProperties(&pool), metadata));
      builder.memory_pool(&pool)->properties(detail::arrow_properties(plain, count));
      PARQUET_ASSIGN_OR_THROW(const auto reader, builder.Build());
      PARQUET_ASSIGN_OR_THROW(const auto batches, reader->GetRecordBatchReader(groups, leaves));
      detail::parquet_rows rows(out, begin, max_row_bytes_);
      std::shared_ptr<::arrow::RecordBatch> batch;
      while (true) {
        PARQUET_THROW_NOT_OK(batches->ReadNext(&batch));
        if (batch == nullptr) break;
        rows.add(*batch);
      }
    });
  });
}

}  // namespace mdstream::inline v0::raw
