// Files of the formats' real writers; see tests/golden/raw/make.py.
#include <mdstream/raw/formats.hpp>

#include <mdstream/core/detail/hex.hpp>
#include <mdstream/format/column_value.hpp>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "raw/raw_source.hpp"
#include "support/catch.hpp"
#include "support/golden_file.hpp"

namespace raw_golden_test {

using namespace raw_test;
using nlohmann::json;

std::string file(const std::string& name) {
  std::ifstream in(support::golden_file("raw/" + name), std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

const json& expected() {
  static const json all = json::parse(file("expected.json"));
  return all;
}

struct rows {
  raw::detail::row_index index;
  std::vector<std::string> samples;

  [[nodiscard]] mds::column_value at(std::size_t row, const std::string& column) const {
    static thread_local mds::sample_layout layout;
    layout = raw::layout_of(index.options.columns);
    return mds::read_column(layout, mds::as_bytes(samples[row]), column);
  }
  [[nodiscard]] std::string text(std::size_t row, const std::string& column) const {
    return texts_of(index, {samples[row]}, column)[0];
  }
};

/// The rows of files of that name, in small shards.
rows read(const std::vector<std::string>& names, raw::options about) {
  about.shard_bytes = 64;
  source objects;
  for (const std::string& name : names) objects[name] = file(name);
  const raw::source_format format = format_of(about);
  rows out{index_of(format, objects, 100), {}};
  out.samples = rows_of(format, out.index, objects);
  return out;
}

std::string encodings(const rows& of) {
  std::string out;
  for (const raw::column& each : of.index.options.columns)
    out += (out.empty() ? "" : " ") + raw::to_string(each);
  return out;
}

std::vector<std::vector<std::uint64_t>> ids(const rows& of) {
  std::vector<std::vector<std::uint64_t>> out;
  for (std::size_t i = 0; i < of.samples.size(); ++i) {
    const auto array = of.at(i, "tokens").as<mds::any_ndarray>();
    auto& row = out.emplace_back();
    mds::visit_dtype(array.type(), [&]<class T>(T) {
      if constexpr (std::is_integral_v<T>)
        for (const T id : array.values<T>()) row.push_back(static_cast<std::uint64_t>(id));
    });
  }
  return out;
}

std::string hex(std::string_view bytes) { return mds::detail::to_hex(mds::as_bytes(bytes)); }

}  // namespace raw_golden_test

TEST_CASE("JSON lines of pandas are read as Python reads them", "[raw]") {
  using namespace raw_golden_test;
  const rows found = read({"pandas.jsonl"}, {.format = "jsonl"});
  CHECK(encodings(found) == "list=json n=int ok=uint8 text=str x=float64");
  const json& wanted = expected().at("pandas.jsonl");
  REQUIRE(found.samples.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(found.text(i, "text") == wanted[i].at("text").get<std::string>());
    CHECK(found.at(i, "n").as<std::int64_t>() == wanted[i].at("n").get<std::int64_t>());
    CHECK(found.at(i, "x").as<double>() == wanted[i].at("x").get<double>());
    CHECK((found.at(i, "ok").as<std::uint64_t>() != 0) == wanted[i].at("ok").get<bool>());
    CHECK(json::parse(found.text(i, "list")) == wanted[i].at("list"));
  }
}

TEST_CASE("CSV of pandas and of Python is read as Python reads it", "[raw]") {
  using namespace raw_golden_test;
  for (const std::string name : {"pandas.csv", "excel.csv"}) {
    INFO(name);
    const rows texts = read({name}, {.format = "csv"});
    CHECK(encodings(texts) == "n=str text=str x=str");
    const rows found = read(
        {name}, {.format = "csv", .columns = {{"text", "str"}, {"n", "int"}, {"x", "float64"}}});
    const json& wanted = expected().at(name);
    REQUIRE(found.samples.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      for (const char* column : {"text", "n", "x"})
        CHECK(texts.text(i, column) == wanted[i].at(column).get<std::string>());
      CHECK(found.at(i, "n").as<std::int64_t>() ==
            std::stoll(wanted[i].at("n").get<std::string>()));
      CHECK(found.at(i, "x").as<double>() == std::stod(wanted[i].at("x").get<std::string>()));
    }
  }
}

TEST_CASE("archives are read as WebDataset reads them", "[raw]") {
  using namespace raw_golden_test;
  for (const auto& [name, wanted] : expected().items()) {
    if (!name.ends_with(".tar")) continue;
    INFO(name);
    raw::options about{.format = "webdataset"};
    const rows typed = read({name}, about);
    for (const auto& [field, value] : wanted[0].items())
      about.columns.push_back({field, field == "__key__" ? "str" : "bytes"});
    const rows found = read({name}, about);
    REQUIRE(found.samples.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      for (const auto& [field, value] : wanted[i].items()) {
        const std::string text = found.text(i, field);
        CHECK((field == "__key__" ? text : hex(text)) == value.template get<std::string>());
      }
  }
  const rows found = read({"webdataset.tar"}, {.format = "webdataset"});
  CHECK(encodings(found) == "__key__=str cls=int json=json npy=ndarray txt=str");
  CHECK(found.at(0, "cls").as<std::int64_t>() == 7);
  CHECK(found.at(1, "cls").as<std::int64_t>() == -1);
  CHECK(found.text(0, "json") == "{\"a\": [1, null]}");
  const auto array = found.at(0, "npy").as<mds::any_ndarray>();
  CHECK(array.shape() == mds::array_shape{2, 3});
  CHECK(array.values<float>()[5] == 5.0F);
  CHECK(found.at(2, "npy").as<mds::any_ndarray>().shape() == mds::array_shape{2, 2, 2});
}

TEST_CASE("tokens of llm.c, nanoGPT and Megatron are the documents that were written", "[raw]") {
  using namespace raw_golden_test;
  using documents = std::vector<std::vector<std::uint64_t>>;
  const auto with = [](std::uint64_t id, bool last) {
    documents out = expected().at("documents").get<documents>();
    for (auto& each : out) each.insert(last ? each.end() : each.begin(), id);
    return out;
  };
  raw::options about{.format = "tokens", .document_token = 50256};
  const rows gpt2 = read({"llmc-gpt2.bin"}, about);
  CHECK(encodings(gpt2) == "tokens=ndarray:uint16");
  CHECK(ids(gpt2) == with(50256, false));
  about.document_token = 128000;
  const rows llama = read({"llmc-llama3.bin"}, about);
  CHECK(encodings(llama) == "tokens=ndarray:uint32");
  CHECK(ids(llama) == with(128000, false));
  const rows nano = read({"nanogpt.bin"}, {.format = "tokens",
                                           .dtype = "uint16",
                                           .document_token = 50256,
                                           .document_token_last = true});
  CHECK(ids(nano) == with(50256, true));
  for (const std::string name : {"megatron-uint16", "megatron-int32"}) {
    documents wanted = expected().at(name).get<documents>();
    CHECK(wanted[3].empty());  // no sample
    wanted.erase(wanted.begin() + 3);
    CHECK(ids(read({name + ".bin", name + ".idx"}, {.format = "tokens"})) == wanted);
  }
}

TEST_CASE("token files give windows at any stride", "[raw]") {
  using namespace raw_golden_test;
  std::vector<std::uint64_t> all;
  for (const auto& each : expected().at("documents")) {
    all.push_back(50256);
    for (const auto& id : each) all.push_back(id.get<std::uint64_t>());
  }
  for (const auto& [window, stride] : {std::pair{9, 8}, {8, 0}, {5, 1}, {66, 3}, {67, 1}}) {
    raw::options about{.format = "tokens"};
    about.window = static_cast<std::uint64_t>(window);
    about.stride = static_cast<std::uint64_t>(stride);
    if (window == 67) {
      about.columns = {{"tokens", "ndarray:uint16:67"}};
      CHECK(read({"llmc-gpt2.bin"}, about).samples.empty());
      continue;
    }
    const rows found = read({"llmc-gpt2.bin"}, about);
    CHECK(encodings(found) == "tokens=ndarray:uint16:" + std::to_string(window));
    std::vector<std::vector<std::uint64_t>> wanted;
    const std::size_t step = stride == 0 ? about.window : about.stride;
    for (std::size_t at = 0; at + about.window <= all.size(); at += step)
      wanted.emplace_back(all.begin() + static_cast<long>(at),
                          all.begin() + static_cast<long>(at + about.window));
    CHECK(ids(found) == wanted);
    // Megatron's .bin is windows as well, by the dtype of its .idx
    CHECK(read({"megatron-int32.bin", "megatron-int32.idx"}, about).samples.size() ==
          (61 < about.window ? 0 : (61 - about.window) / step + 1));
  }
}
