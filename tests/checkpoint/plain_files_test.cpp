// Safetensors files that others wrote: found, read, cast, imported; and those that mean harm.
#include <mdstream/async/runtime.hpp>
#include <mdstream/checkpoint/detail/plain_files.hpp>
#include <mdstream/checkpoint/export.hpp>
#include <mdstream/checkpoint/import.hpp>
#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace checkpoint_plain_files_test {

namespace mds = mdstream;
using mds::errc;
using mds::tensor_type;
using support::expect_error;

struct written_tensor {
  std::string name;
  tensor_type type;
  mds::tensor_shape shape;
  std::string bytes;
};

/// A file as someone else may write it: tensors in any order, the head of any length.
std::string file_of(const std::vector<written_tensor>& tensors, std::size_t spaces = 0,
                    const std::string& metadata = {}) {
  std::string text = "{", data;
  for (const written_tensor& each : tensors) {
    if (text.size() > 1) text += ',';
    text +=
        '"' + each.name + "\":{\"dtype\":\"" + std::string(to_string(each.type)) + "\",\"shape\":[";
    for (std::size_t d = 0; d < each.shape.size(); ++d)
      text += (d > 0 ? "," : "") + std::to_string(each.shape[d]);
    text += "],\"data_offsets\":[" + std::to_string(data.size()) + ',';
    data += each.bytes;
    text += std::to_string(data.size()) + "]}";
  }
  if (!metadata.empty()) text += (text.size() > 1 ? "," : "") + ("\"__metadata__\":" + metadata);
  text += '}' + std::string(spaces, ' ');
  std::string out(8, '\0');
  mds::store_to(reinterpret_cast<std::byte*>(out.data()), std::uint64_t{text.size()});
  return out + text + data;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

written_tensor counted(const std::string& name, std::uint64_t count, float first = 0) {
  std::vector<float> values;
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(first + static_cast<float>(i));
  return {name, tensor_type::f32, {count}, bytes_of(values)};
}

void put(const mds::opened_store& into, const std::string& key, const std::string& bytes) {
  into.write(key, mds::as_bytes(bytes));
}

template <class T>
std::vector<T> load(const mds::checkpoint& from, const std::string& name, tensor_type type,
                    std::uint64_t count, const mds::read_options& options = {}) {
  std::vector<T> out(static_cast<std::size_t>(count));
  mds::tensor_list list;
  list.add(name, type, {count}, out.data());
  from.load(list, options);
  return out;
}

std::string index_of(const std::vector<std::pair<std::string, std::string>>& tensors) {
  std::string out = R"({"metadata":{"total_size":1.5},"weight_map":{)";
  for (const auto& [tensor, file] : tensors)
    out += (out.back() == '{' ? "\"" : ",\"") + tensor + "\":\"" + file + '"';
  return out + "}}";
}

}  // namespace checkpoint_plain_files_test

using namespace checkpoint_plain_files_test;

TEST_CASE("which files of a place are the model", "[checkpoint]") {
  using choice = mds::detail::plain_choice;
  const auto choose = [](const std::vector<std::string>& keys) {
    std::vector<mds::object_info> listing;
    for (const std::string& each : keys) listing.push_back({.key = each});
    return mds::detail::choose_plain_files(listing);
  };
  CHECK(choose({"b.safetensors", "model.safetensors", "model.safetensors.index.json"}) ==
        choice{.files = {"model.safetensors"}});
  CHECK(choose({"a.safetensors.index.json", "model-00001-of-00001.safetensors",
                "model.safetensors.index.json"}) ==
        choice{.index = "model.safetensors.index.json"});
  CHECK(choose({"a.safetensors", "diffusion.safetensors.index.json"}) ==
        choice{.index = "diffusion.safetensors.index.json"});
  CHECK(choose({"README.md", "b.safetensors", "a.safetensors", "vae/model.safetensors"}) ==
        choice{.files = {"a.safetensors", "b.safetensors"}});
  expect_error([&] { (void)choose({"config.json", "sub/model.safetensors"}); }, errc::not_found,
               {"*.safetensors"});
  expect_error([&] { (void)choose({"a.safetensors.index.json", "b.safetensors.index.json"}); },
               errc::invalid_argument, {"\"a.safe", "\"b.safe"});
}

TEST_CASE("a model of one file or several is read as a checkpoint is", "[checkpoint]") {
  const mds::opened_store source = mds::store::memory();
  const written_tensor w = counted("w", 40), b = counted("b", 3, 7);
  put(source, "model-00001-of-00002.safetensors", file_of({w}, 3, R"({"format":"pt"})"));
  put(source, "model-00002-of-00002.safetensors", file_of({b, {"none", tensor_type::i8, {0}, ""}}));
  put(source, "other.safetensors", file_of({w}));
  put(source, "model.safetensors.index.json",
      index_of(
          {{"w", "model-00001-of-00002.safetensors"}, {"b", "model-00002-of-00002.safetensors"}}));
  const auto model = mds::checkpoint::open_files(source);
  CHECK(model.tensors() ==
        std::vector<mds::tensor_info>{{"b", tensor_type::f32, {3}},
                                      {"none", tensor_type::i8, {0}},  // the index lacks it
                                      {"w", tensor_type::f32, {40}}});
  CHECK(model.name().empty());
  CHECK(model.ranks() == 0);
  CHECK(model.metadata() == std::vector<std::pair<std::string, std::string>>{{"format", "pt"}});
  CHECK(bytes_of(load<float>(model, "b", tensor_type::f32, 3)) == b.bytes);
  std::vector<float> part(5);
  model.read("w", {{11}, {5}}, mds::mutable_bytes(reinterpret_cast<std::byte*>(part.data()), 20));
  CHECK(part == std::vector<float>{11, 12, 13, 14, 15});
  CHECK(load<double>(model, "w", tensor_type::f64, 40, {.cast = true}).at(17) == 17.0);
  expect_error([&] { (void)load<double>(model, "w", tensor_type::f64, 40); },
               errc::invalid_argument, {"\"w\" is F32 [40]", "F64"});
  expect_error([&] { (void)load<std::int32_t>(model, "w", tensor_type::i32, 40, {.cast = true}); },
               errc::invalid_argument, {"\"w\" is F32 [40]", "I32"});
  const auto one = mds::checkpoint::open_files(source, "other.safetensors");
  CHECK(one.tensors().size() == 1);
  // Named by the index of another directory's, or not there.
  expect_error([&] { (void)mds::checkpoint::open_files(source, "x.safetensors"); }, errc::not_found,
               {"x.safetensors"});
  expect_error([&] { (void)mds::checkpoint::open_files(source, "x.safetensors.index.json"); },
               errc::not_found, {"x.safetensors.index.json"});
  expect_error([&] { (void)mds::checkpoint::open_files(mds::store::memory()); }, errc::not_found,
               {"*.safetensors"});
}

TEST_CASE("plain files that mean harm are refused by file and tensor", "[checkpoint]") {
  const mds::opened_store source = mds::store::memory();
  const std::string good = file_of({counted("w", 4)});
  const auto refuse = [&](std::initializer_list<std::string_view> pieces,
                          errc code = errc::corrupt) {
    expect_error([&] { (void)mds::checkpoint::open_files(source); }, code, pieces);
  };
  const std::string index = "model.safetensors.index.json", first = "a.safetensors";
  SECTION("heads") {
    std::string large = good;
    mds::store_to(reinterpret_cast<std::byte*>(large.data()), std::uint64_t{100'000'001});
    for (const auto& [bytes, piece] : std::vector<std::pair<std::string, std::string>>{
             {"", "shorter than 8"},
             {"1234567", "shorter than 8"},
             {large, "100000001"},
             {std::string(8, '\xFF'), "header"},
             {good.substr(0, 30), "header"},
             {good.substr(0, good.size() - 1), "16 bytes"},
             {good + 'x', "16 bytes"},
             {file_of({{"w", tensor_type::f32, {2}, "12345"}}), "\"w\""},
             {file_of({counted("w", 1), counted("w", 2)}), "\"w\""}}) {
      INFO(piece);
      put(source, first, bytes);
      refuse({first, piece});
    }
    // A head that is longer than what is fetched at first.
    put(source, first, file_of({counted("w", 4)}, 400'000));
    CHECK(mds::checkpoint::open_files(source).tensors().size() == 1);
    put(source, first, file_of({counted("w", 4)}, 400'000, "7"));
    refuse({first, "byte"});
  }
  SECTION("a tensor in two files") {
    put(source, first, good);
    put(source, "b.safetensors", good);
    refuse({"b.safetensors", "\"w\"", "\"a.safetensors\" already"});
    put(source, index, index_of({{"w", first}, {"v", "b.safetensors"}}));
    refuse({index, "\"v\"", "\"b.safetensors\""});
    put(source, index, index_of({{"w", first}}));
    CHECK(mds::checkpoint::open_files(source).tensors().size() == 1);
  }
  SECTION("indexes") {
    put(source, first, good);
    for (const char* file : {"../a.safetensors", "/etc/passwd", "sub/a.safetensors", "", ".."}) {
      INFO(file);
      put(source, index, index_of({{"w", file}}));
      refuse({index, "\"w\""});
    }
    put(source, index, index_of({{"w", "gone.safetensors"}}));
    refuse({"gone.safetensors"}, errc::not_found);
    for (const char* text : {"", "[]", "{}", R"({"weight_map":7})", R"({"weight_map":{"w":7}})"}) {
      put(source, index, text);
      refuse({index});
    }
  }
  SECTION("parts of torch.distributed that leave a hole") {
    put(source, first,
        file_of({counted("w", 4)}, 0,
                R"({"DCP_SHARDING_INFO":"{\"w\":{\"saved_offsets\":[1]}}"})"));
    refuse({first, "\"w\"", "[0] is missing"});
  }
  SECTION("a file that gets shorter once it is open") {
    put(source, first, good);
    const auto open = mds::checkpoint::open_files(source);
    put(source, first, good.substr(0, good.size() - 4));
    expect_error([&] { (void)load<float>(open, "w", tensor_type::f32, 4); }, errc::corrupt,
                 {first, "\"w\"", "shorter"});
  }
}

TEST_CASE("elements that lie across blocks are cast whole", "[checkpoint]") {
  // 5 million doubles, which begin at any byte; blocks are of 16 MiB.
  constexpr std::uint64_t count = 5'000'000;
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i) + 0.25;
  for (const std::size_t spaces : {0U, 1U, 3U, 6U}) {
    const mds::opened_store source = mds::store::memory();
    put(source, "model.safetensors",
        file_of({{"odd", tensor_type::u8, {5}, "12345"},
                 {"w", tensor_type::f64, {count}, bytes_of(values)}},
                spaces));
    const auto model = mds::checkpoint::open_files(source);
    const auto got = load<float>(model, "w", tensor_type::f32, count, {.cast = true});
    std::size_t same = 0;
    for (std::size_t i = 0; i < count; ++i) same += got[i] == static_cast<float>(values[i]);
    CHECK(same == count);
    CHECK(load<double>(model, "w", tensor_type::f64, count) == values);
    // Columns, of which each run begins elsewhere.
    std::vector<float> columns(1000 * 7, -1);
    mds::tensor_list list;
    list.add("w", tensor_type::f32, {count}, {{count - 7000}, {7000}}, columns.data());
    model.load(list, {.cast = true});
    CHECK(columns.at(6999) == static_cast<float>(values.back()));
  }
}

TEST_CASE("a model is imported, cast and renamed, and a job goes on from it", "[checkpoint]") {
  const mds::opened_store source = mds::store::memory(), run = mds::store::memory();
  const written_tensor w = counted("model.w", 5000), b = counted("model.b", 3, 0.5F);
  put(source, "model.safetensors",
      file_of({w,
               b,
               {"model.n", tensor_type::i64, {}, std::string(8, '\1')},
               {"model.none", tensor_type::f32, {0, 3}, ""}},
              5, R"({"format":"pt"})"));
  const auto model = mds::checkpoint::open_files(source);
  std::atomic<std::uint64_t> reported = 0;
  mds::import_options options{.step = 7,
                              .rename = [](const std::string& name) { return name.substr(6); }};
  options.file_bytes.value = 3000;  // the tensor is cut
  options.cast = tensor_type::f64;
  options.progress = [&](std::uint64_t more) { reported += more; };
  options.requests = 1;
  const std::string name = mds::import_checkpoint(model, run, options);
  const auto imported = mds::checkpoint::open(run);
  CHECK(imported.name() == name);
  CHECK(imported.step() == 7);
  CHECK(imported.ranks() == 1);
  CHECK(imported.bytes() == reported);
  CHECK(imported.metadata() == model.metadata());
  CHECK(imported.verify().empty());
  CHECK(imported.tensors() == std::vector<mds::tensor_info>{{"b", tensor_type::f64, {3}},
                                                            {"n", tensor_type::i64, {}},
                                                            {"none", tensor_type::f64, {0, 3}},
                                                            {"w", tensor_type::f64, {5000}}});
  CHECK(bytes_of(load<float>(imported, "w", tensor_type::f32, 5000, {.cast = true})) == w.bytes);
  CHECK(run.list("data/").size() > 14);
  for (const auto& each : run.list("data/"))
    if (each.key.ends_with(".safetensors")) CHECK(each.bytes < 3600);
  expect_error([&] { (void)mds::import_checkpoint(model, run); }, errc::invalid_argument,
               {"has checkpoints"});

  mds::checkpoint_saver saver({.run = run});
  const auto last = saver.resume_point();
  REQUIRE(last);
  CHECK(last->name() == name);
  std::vector<float> mine(5000);
  mds::tensor_list list;
  list.add("w", tensor_type::f32, {5000}, mine.data());
  last->load(list, {.cast = true});
  saver.save(8, list);
  saver.finish();
  const auto next = mds::checkpoint::open(run);
  CHECK(next.step() == 8);
  CHECK(bytes_of(load<float>(next, "w", tensor_type::f32, 5000)) == w.bytes);

  const mds::opened_store out = mds::store::memory();
  mds::export_options plain{.rename = [](const std::string& each) { return "model." + each; }};
  plain.cast = tensor_type::f32;
  (void)mds::export_checkpoint(imported, out, plain);
  const auto again = mds::checkpoint::open_files(out);
  CHECK(again.tensors() == model.tensors());
  CHECK(bytes_of(load<float>(again, "model.w", tensor_type::f32, 5000)) == w.bytes);
}

TEST_CASE("imports that cannot be right leave no checkpoint", "[checkpoint]") {
  const mds::opened_store source = mds::store::memory(), run = mds::store::memory();
  put(source, "model.safetensors", file_of({counted("a", 3), counted("b", 3)}));
  const auto model = mds::checkpoint::open_files(source);
  mds::import_options options;
  SECTION("two tensors of one name") {
    options.rename = [](const std::string&) { return std::string("same"); };
    expect_error([&] { (void)mds::import_checkpoint(model, run, options); }, errc::invalid_argument,
                 {"\"same\""});
  }
  SECTION("a name that no tensor may have") {
    options.rename = [](const std::string&) { return std::string(); };
    expect_error([&] { (void)mds::import_checkpoint(model, run, options); }, errc::invalid_argument,
                 {"named \"\""});
  }
  SECTION("a type that floats are not cast to") {
    options.cast = tensor_type::i8;
    expect_error([&] { (void)mds::import_checkpoint(model, run, options); }, errc::invalid_argument,
                 {"not to I8"});
  }
  SECTION("the model is gone meanwhile") {
    source.remove("model.safetensors");
    expect_error([&] { (void)mds::import_checkpoint(model, run, options); }, errc::not_found,
                 {"model.safetensors"});
    put(source, "model.safetensors", file_of({counted("a", 3), counted("b", 3)}));
    CHECK(mds::checkpoint::list(run).empty());
    (void)mds::import_checkpoint(model, run);
    CHECK(mds::checkpoint::open(run).tensors().size() == 2);
    return;
  }
  SECTION("the store keeps other bytes than it took") {
    mds::runtime threads(1);
    struct lying {
      mds::opened_store inner;
      [[nodiscard]] std::uint64_t size(std::string_view key) const { return inner.size(key); }
      std::size_t read(std::string_view key, std::uint64_t at, mds::mutable_bytes into) const {
        return inner.read(key, at, into);
      }
      void write(std::string_view key, mds::bytes_view bytes) const {
        std::vector<std::byte> other(bytes.begin(), bytes.end());
        if (key.ends_with(".safetensors")) other.back() ^= std::byte{1};
        inner.write(key, other);
      }
      [[nodiscard]] std::vector<mds::object_info> list(std::string_view prefix) const {
        return inner.list(prefix);
      }
      void remove(std::string_view key) const { inner.remove(key); }
      [[nodiscard]] std::string url(std::string_view key) const { return inner.url(key); }
    };
    expect_error([&] { (void)mds::import_checkpoint(model, lying{run}, options); }, errc::corrupt,
                 {"other bytes than it took", "r0-0.safetensors"});
  }
  CHECK(mds::checkpoint::list(run).empty());
}
