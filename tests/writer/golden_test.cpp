// Everything that the reference wrote is read back value for value, and written again: uncompressed
// byte for byte, compressed with the same index and the same bytes after decompression.

#include <mdstream/codec/full.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/hash/choice.hpp>
#include <mdstream/hash/full.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/writer/row_writer.hpp>
#include <mdstream/writer/writer.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "format/golden.hpp"
#include "format/typed_values.hpp"
#include "support/catch.hpp"

namespace golden_test {

using format_golden::ordered_json;
using memory = mdstream::store::memory;

using policies = mdstream::policies<memory, mdstream::full_codec, mdstream::full_hash>;

/// A dataset in a directory of the golden files.
class dataset {
 public:
  explicit dataset(const std::string& directory)
      : directory_(directory),
        text_(format_golden::read_text(directory + "index.json")),
        index_(mdstream::dataset_index::parse(text_, {.allow_unsafe_types = true})) {}

  const mdstream::dataset_index& index() const { return index_; }
  const std::string& index_text() const { return text_; }

  /// The raw bytes of a file; sizes and all hashes of the index are checked on the way.
  std::string raw(std::size_t shard, bool meta) const {
    using mdstream::file_role;
    const auto raw_file = *index_.file(shard, meta ? file_role::raw_meta : file_role::raw_data);
    const auto zip_file = index_.file(shard, meta ? file_role::zip_meta : file_role::zip_data);
    const auto& stored = zip_file ? *zip_file : raw_file;
    std::string bytes = format_golden::read_text(directory_ + stored.name);
    check(bytes, stored);
    if (!zip_file) return bytes;
    std::string out(raw_file.bytes, '\0');
    mdstream::diagnostics where;
    const auto codec = mdstream::full_codec::open(index_.compression(shard));
    REQUIRE_FALSE(
        codec.decompress(mdstream::as_bytes(bytes), std::as_writable_bytes(std::span(out)), where));
    check(out, raw_file);
    return out;
  }

 private:
  static void check(const std::string& bytes, const mdstream::file_info& file) {
    REQUIRE(bytes.size() == file.bytes);
    for (const mdstream::file_hash& hash : file.hashes) {
      INFO(file.name << " " << hash.name);
      CHECK(mdstream::hash_of<mdstream::full_hash>(hash.name, mdstream::as_bytes(bytes)) ==
            hash.hex);
    }
  }

  std::string directory_;
  std::string text_;
  mdstream::dataset_index index_;
};

/// Calls `each(shard, sample in shard, bytes)`.
template <class F>
void for_each_sample(const dataset& data, F each) {
  const auto& index = data.index();
  for (std::size_t i = 0; i < index.shards(); ++i) {
    const std::string bytes = data.raw(i, false);
    const std::uint64_t samples = index.shard_samples(i);
    if (index.format(i) == mdstream::shard_format::mds) {
      const mdstream::mds_shard_view shard(mdstream::as_bytes(bytes), samples);
      for (std::size_t k = 0; k < samples; ++k) each(i, k, shard[k]);
    } else {
      const std::string meta = data.raw(i, true);
      const mdstream::detail::row_shard_view shard(mdstream::as_bytes(bytes),
                                                   mdstream::as_bytes(meta), samples);
      for (std::size_t k = 0; k < samples; ++k) each(i, k, shard[k]);
    }
  }
}

std::size_t check_samples(const dataset& data, const std::vector<ordered_json>& expected) {
  std::size_t row = 0;
  for_each_sample(data, [&](std::size_t shard, std::size_t sample, mdstream::bytes_view bytes) {
    const auto& want = expected.at(row++);
    REQUIRE(want.at("shard").get<std::size_t>() == shard);
    REQUIRE(want.at("index").get<std::size_t>() == sample);
    const mdstream::shard_config& config = data.index().config(shard);
    REQUIRE(want.at("sample").size() == config.layout.size());
    for (const auto& [column, value] : want.at("sample").items()) {
      INFO(column << ": " << value.dump().substr(0, 200));
      const auto got = mdstream::read_column(config, bytes, column);
      CHECK(typed_values::same(got, value, config.layout[config.layout.at(column)].type));
    }
  });
  CHECK(row == expected.size());
  return row;
}

/// Images that the reference encoded itself are taken from its bytes.
bool is_encoded_image(const ordered_json& value, const std::string& encoding) {
  if (encoding == "jpeg" || encoding == "png") return value.at("t") != "bytes";
  return (encoding == "list[jpeg]" || encoding == "list[png]") && !value.at("v").empty();
}

template <class Options>
void set_options(Options& options, const ordered_json& about) {
  const auto& given = about.at("writer_kwargs");
  options.compression = given.value("compression", "");
  options.hashes = given.value("hashes", std::vector<std::string>());
  if (given.contains("size_limit")) {
    const auto& limit = given.at("size_limit");
    if (limit.is_null())
      options.size_limit = std::uint64_t{0};
    else if (limit.is_string())
      options.size_limit = mdstream::byte_size(limit.get<std::string>());
    else
      options.size_limit = limit.get<std::uint64_t>();
  }
  for (const auto& [name, encoding] : about.at("columns").items())
    options.columns.push_back({name, encoding.template get<std::string>()});
}

/// Writes the inputs with `out`; samples of `original` stand in where only it has the bytes.
template <class Writer>
void write_inputs(Writer& out, const ordered_json& about, const dataset& original) {
  std::vector<std::pair<std::size_t, std::string>> stored;
  for_each_sample(original, [&](std::size_t shard, std::size_t, mdstream::bytes_view bytes) {
    stored.emplace_back(shard, mdstream::as_text(bytes));
  });
  std::size_t row = 0;
  for (const auto& sample : about.at("inputs")) {
    typed_values::arena keep;
    std::vector<mdstream::named_value> values;
    const auto& [shard, bytes] = stored.at(row++);
    const auto& layout = original.index().layout(shard);
    for (const auto& [name, value] : sample.items()) {
      const auto encoding = about.at("columns").at(name).template get<std::string>();
      auto given = typed_values::value_of(value, keep);
      if (!given || is_encoded_image(value, encoding))
        given = layout.locate(mdstream::as_bytes(bytes), layout.at(name));
      else if (encoding == "list[jpeg]" || encoding == "list[png]")
        given = mdstream::image_files();
      values.push_back({name, *given});
    }
    out.write(std::span<const mdstream::named_value>(values));
  }
  out.finish();
}

/// What was written is what the reference wrote.
void compare(const memory& written, const dataset& original) {
  const auto text = [&](const std::string& key) {
    return std::string(mdstream::as_text(mdstream::read_all(written, key)));
  };
  const std::string index_text = text("index.json");
  const auto& index = original.index();
  if (index.shards() == 0 || index.compression(0).empty())
    CHECK(index_text == original.index_text());
  const auto again = mdstream::dataset_index::parse(index_text, {.allow_unsafe_types = true});
  REQUIRE(again.shards() == index.shards());
  for (std::size_t i = 0; i < index.shards(); ++i) {
    CHECK(again.raw(i) == index.raw(i));
    CHECK(again.config(i) == index.config(i));
    for (const bool meta : {false, true}) {
      const auto role = meta ? mdstream::file_role::raw_meta : mdstream::file_role::raw_data;
      const auto zip_role = meta ? mdstream::file_role::zip_meta : mdstream::file_role::zip_data;
      if (!index.file(i, role)) continue;
      CHECK(again.file(i, role) == index.file(i, role));
      const auto zip = again.file(i, zip_role);
      REQUIRE(zip.has_value() == index.file(i, zip_role).has_value());
      std::string raw = text(zip ? zip->name : again.file(i, role)->name);
      if (zip) {
        CHECK(zip->name == index.file(i, zip_role)->name);
        CHECK(zip->bytes == raw.size());
        const auto codec = mdstream::full_codec::open(index.compression(i));
        std::string unzipped(index.file(i, role)->bytes, '\0');
        mdstream::diagnostics where;
        REQUIRE_FALSE(codec.decompress(mdstream::as_bytes(raw),
                                       std::as_writable_bytes(std::span(unzipped)), where));
        CHECK_FALSE(mdstream::exists(written, index.file(i, role)->name));
        raw = unzipped;
      }
      CHECK((raw == original.raw(i, meta)));
    }
  }
}

}  // namespace golden_test

TEST_CASE("all golden datasets are read value for value", "[golden]") {
  using namespace golden_test;
  std::size_t samples = 0;
  for (const std::string& name : format_golden::dataset_names()) {
    INFO(name);
    const std::string base = format_golden::root() + "mds/" + name + "/";
    const auto rows = format_golden::read_json(base + "samples.json");
    if (name == "splits") {
      for (const std::string split : {"train", "val"}) {
        std::vector<ordered_json> of_split;
        for (const auto& row : rows)
          if (row.at("split") == split) of_split.push_back(row);
        samples += check_samples(dataset(base + "data/" + split + "/"), of_split);
      }
    } else {
      samples += check_samples(dataset(base + "data/"), rows);
    }
  }
  CHECK(samples == 819);  // as many as golden/mds has
}

TEST_CASE("all golden datasets with known inputs are written again", "[golden]") {
  using namespace golden_test;
  int written = 0;
  for (const std::string& name : format_golden::dataset_names()) {
    INFO(name);
    const std::string base = format_golden::root() + "mds/" + name + "/";
    const auto about = format_golden::read_json(base + "dataset.json");
    if (!about.contains("inputs")) continue;
    const dataset original(base + "data/");
    const memory store;
    if (about.at("format") == "mds") {
      mdstream::writer_options options{.out = store};
      set_options(options, about);
      mdstream::writer<policies> out(options);
      write_inputs(out, about, original);
    } else {
      mdstream::row_writer_options options{
          .out = store,
          .format = *mdstream::find_shard_format(about.at("format").get<std::string>())};
      set_options(options, about);
      options.newline = about.at("writer_kwargs").value("newline", "\n");
      options.separator = about.at("writer_kwargs").value("separator", "");
      mdstream::row_writer<policies> out(options);
      write_inputs(out, about, original);
    }
    compare(store, original);
    ++written;
  }
  CHECK(written == 33);
}
