// Texts of a run and heads of files that mean harm: refused by name and place, at no more cost than
// others.
#include <mdstream/checkpoint/detail/run_texts.hpp>
#include <mdstream/checkpoint/detail/sealed_json.hpp>
#include <mdstream/checkpoint/detail/tiling.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/model_run.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace checkpoint_hostile_test {

namespace mds = mdstream;
using mds::errc;
using mds::tensor_type;
using mds::detail::data_layout;
using mds::detail::safetensors_head;
using mds::detail::stored_tensor;

std::string sealed(std::string_view kind, const std::string& members) {
  std::string out = mds::detail::begin_sealed(kind) + members;
  mds::detail::seal(out);
  return out;
}

const std::string deep(1000, '[');

void refused_layout(const std::string& files, const std::string& tensors,
                    std::initializer_list<std::string_view> pieces) {
  const std::string text = sealed("layout", ", \"files\": " + files + ", \"tensors\": " + tensors);
  support::expect_error([&] { (void)mds::detail::read_layout(text, {.url = "run/layout"}); },
                        errc::corrupt, pieces);
}

safetensors_head head_of(const std::string& name, tensor_type type, mds::tensor_shape shape) {
  safetensors_head out{.data_at = 8};
  const std::uint64_t bytes = *mds::detail::tensor_bytes(type, shape);
  out.tensors.push_back({name, type, std::move(shape), 0, bytes});
  out.data_bytes = bytes;
  return out;
}

}  // namespace checkpoint_hostile_test

TEST_CASE("heads of files that mean harm are refused by file and tensor", "[checkpoint]") {
  using namespace checkpoint_hostile_test;
  const auto refuse = [](const std::string& entries, std::uint64_t data,
                         std::initializer_list<std::string_view> pieces) {
    const std::string text = '{' + entries + '}';
    std::string file(8, '\0');
    mds::store_to(reinterpret_cast<std::byte*>(file.data()), std::uint64_t{text.size()});
    file += text;
    INFO(entries.substr(0, 200));
    const auto read = [&] {
      (void)mds::detail::read_safetensors(mds::as_bytes(file), file.size() + data, {.url = "f.st"});
    };
    support::expect_error(read, errc::corrupt, {"f.st"});
    support::expect_error(read, errc::corrupt, pieces);
  };
  const auto one = [](const std::string& shape, const std::string& offsets) {
    return R"("a":{"dtype":"U8","shape":)" + shape + R"(,"data_offsets":)" + offsets + '}';
  };
  const auto two = [&](const std::string& first, const std::string& second) {
    return one("[4]", first) + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + '}';
  };
  refuse(two("[0,4]", "[2,6]"), 6, {"\"b\"", "2 to 6", "ends at 4"});  // overlap
  refuse(two("[0,4]", "[0,4]"), 4, {"\"b\"", "0 to 4", "ends at 4"});
  refuse(two("[0,4]", "[5,9]"), 9, {"\"b\"", "5 to 9"});   // a hole
  refuse(two("[0,4]", "[4,8]"), 7, {"8 bytes", "are 7"});  // beyond the file
  refuse(one("[18446744073709551615]", "[0,18446744073709551615]"), 4, {"bytes"});
  refuse(one("[18446744073709551616]", "[0,4]"), 4, {"too large", "byte"});
  refuse(one("[4294967296,4294967296]", "[0,0]"), 0, {"\"a\"", "[4294967296, 4294967296]"});
  for (const char* extent : {"NaN", "Infinity", "-1", "1.0", "4e0", "null", "\"4\"", "[4]", "true"})
    refuse(one('[' + std::string(extent) + ']', "[0,4]"), 4, {"byte"});
  for (const char* offsets : {"[0]", "[0,4,4]", "[NaN,4]", "{}", "[0,-4]", "4"})
    refuse(one("[4]", offsets), 4, {"byte"});
  refuse(one(deep, "[0,4]"), 4, {"byte"});
  refuse(R"("a":{"dtype":"U8","more":)" + deep + '}', 4, {"\"a\"", "\"more\""});
  refuse(R"("__metadata__":)" + deep, 0, {"byte"});
}

TEST_CASE("layouts that mean harm are refused by place", "[checkpoint]") {
  using namespace checkpoint_hostile_test;
  const std::string file = R"([["a",100,[]]])";
  refused_layout(R"([["a",100,[]],["a",100,[]]])", "[]", {"two files", "\"a\"", "run/layout"});
  refused_layout(R"([["a",9223372036854775808,[]],["b",9223372036854775808,[]]])", "[]",
                 {"64 bits", "byte", "run/layout"});
  refused_layout(file, R"([["v","U8",[4],[[0,6,[0],[4]]]],["w","U8",[4],[[0,3,[0],[4]]]]])",
                 {"\"w\" and \"v\"", "share", "byte 6", "run/layout"});
  refused_layout(file, R"([["w","U8",[4],[[0,0,[0],[2]],[0,1,[2],[2]]]]])", {"share", "byte 1"});
  refused_layout(file, R"([["w","U8",[18446744073709551615],[]]])", {"\"w\"", "shape"});
  refused_layout(file, R"([["w","U8",[4],[[0,18446744073709551615,[0],[4]]]]])", {"does not lie"});
  refused_layout(file, R"([["w","U8",[4],[[0,0,[18446744073709551615],[2]]]]])", {"lies outside"});
  refused_layout(file, R"([["w","U8",[4],[[18446744073709551615,0,[0],[4]]]]])", {"no file"});
  refused_layout(file, R"([["w","U8",[NaN],[]]])", {"byte", "run/layout"});
  refused_layout(file, R"([["w","U8",)" + deep, {"byte", "run/layout"});
  refused_layout(file, "[], \"more\": " + deep, {"nests too deeply", "byte"});
  refused_layout(file, "[], \"more\": \"\xFF\"", {"UTF-8", "byte"});
  // boxes of no elements share nothing
  const std::string text =
      sealed("layout", R"(, "files": [["a",4,[]]], "tensors": )"
                       R"([["n","U8",[0],[[0,2,[0],[0]]]],["w","U8",[4],[[0,0,[0],[4]]]]])");
  CHECK(mds::detail::read_layout(text).tensors.size() == 2);
}

TEST_CASE("boxes that are cut along many dimensions take bounded memory", "[checkpoint]") {
  using namespace checkpoint_hostile_test;
  stored_tensor tensor{.name = "w", .type = tensor_type::u8, .shape = mds::tensor_shape(8, 2)};
  const mds::box corner{mds::tensor_shape(8, 0), mds::tensor_shape(8, 1)};
  for (int i = 0; i < 300'000; ++i) tensor.add(0, 0, corner);
  support::expect_error([&] { mds::detail::require_tiling(tensor, errc::corrupt); },
                        errc::unsupported, {"\"w\"", "300000 boxes", "8 dimensions"});
}

TEST_CASE("records have each of their members once", "[checkpoint]") {
  using namespace checkpoint_hostile_test;
  const mds::detail::save_id id{{1, 2}, 3};
  const std::string text = mds::detail::write_record({.id = id, .rank = 0, .ranks = 1});
  REQUIRE(mds::detail::read_record(text, id, 0).ranks == 1);
  const auto refuse = [&](const std::string& from, const std::string& to,
                          std::initializer_list<std::string_view> pieces) {
    std::string members = text.substr(mds::detail::begin_sealed("record").size());
    members.resize(members.size() - 2);
    REQUIRE(members.find(from) != std::string::npos);
    members.replace(members.find(from), from.size(), to);
    const std::string changed = sealed("record", members);
    INFO(changed);
    support::expect_error([&] { (void)mds::detail::read_record(changed, id, 0, {.url = "r0"}); },
                          errc::corrupt, pieces);
  };
  const std::string name = "\"checkpoint\": \"" + id.text() + '"';
  refuse(name, "\"rank\": 0", {"\"rank\" stands there twice", "r0"});
  refuse("\"version\": 1", name, {"\"checkpoint\" stands there twice"});
  refuse("\"version\"", "\"other\"", {"\"version\" is missing"});
  refuse("\"files\": []", "\"files\": [], \"files\": []", {"\"files\" stands there twice"});
  refuse("\"rank\": 0", "\"rank\": 18446744073709551616", {"too large", "byte"});
}

TEST_CASE("the line of a start falls", "[checkpoint]") {
  using namespace checkpoint_hostile_test;
  using mds::detail::start_id;
  const start_id own{5, 1};
  const std::string resumed = mds::detail::write_manifest({.id = {{3, 1}, 10}, .ranks = 1});
  const auto text = [&](std::vector<mds::detail::start_record::ancestor> line) {
    return mds::detail::write_start(
        {.id = own, .ranks = 1, .resumed = resumed, .line = std::move(line)});
  };
  CHECK(mds::detail::read_start(text({{{3, 1}, 10}, {{1, 9}, 7}}), own).line.size() == 2);
  for (const start_id second : {start_id{3, 1}, start_id{3, 0}, start_id{4, 1}, start_id{5, 1}})
    support::expect_error(
        [&] { (void)mds::detail::read_start(text({{{3, 1}, 10}, {second, 7}}), own); },
        errc::corrupt, {second.text(), start_id{3, 1}.text()});
  support::expect_error([&] { (void)mds::detail::read_start(text({{own, 10}}), own); },
                        errc::corrupt, {own.text()});
}

TEST_CASE("a manifest whose bytes are not those of its layout is passed over", "[checkpoint]") {
  using namespace checkpoint_hostile_test;
  model_run::store store;
  model_run::job earlier(store, 1, 2);
  earlier.start();
  earlier.commit(10);
  earlier.commit(20);
  const mds::detail::save_id newest = earlier.committed.back();
  auto manifest = mds::detail::read_manifest(store.objects.at(newest.manifest()), newest);
  ++manifest.data_bytes;
  store.objects[newest.manifest()] = mds::detail::write_manifest(manifest);
  CHECK(model_run::next_start(store, 2) == 10);
  --manifest.data_bytes;
  manifest.ranks = 0;
  support::expect_error(
      [&] {
        (void)mds::detail::read_manifest(mds::detail::write_manifest(manifest), newest,
                                         {.url = "manifest"});
      },
      errc::corrupt, {"no rank", "manifest"});
}

TEST_CASE("heads of plain files that contradict each other are refused by file and tensor",
          "[checkpoint]") {
  using namespace checkpoint_hostile_test;
  using heads = std::vector<std::pair<std::string, safetensors_head>>;
  const auto refuse = [](const heads& files, std::initializer_list<std::string_view> pieces) {
    support::expect_error([&] { (void)mds::detail::layout_of_files(files); }, errc::corrupt,
                          pieces);
  };
  // a tensor may have the empty name; its ranks still have to agree
  refuse(
      {{"1.st", head_of("", tensor_type::u8, {2, 2})}, {"2.st", head_of("", tensor_type::u8, {})}},
      {"2.st", "\"\""});
  refuse(
      {{"1.st", head_of("", tensor_type::u8, {})}, {"2.st", head_of("", tensor_type::u8, {2, 2})}},
      {"2.st", "\"\""});
  const auto cut = [](const std::string& offsets) {
    safetensors_head out = head_of("w", tensor_type::u8, {4});
    out.metadata = {{"DCP_SHARDING_INFO", offsets}};
    return heads{{"1.st", std::move(out)}};
  };
  CHECK(mds::detail::layout_of_files(cut(R"({"w":{"saved_offsets":[0]}})")).files.size() == 1);
  for (const char* bad : {"", "[]", "7", "{\"w\":1}", "{\"w\":{}}", R"({"w":{"saved_offsets":7}})",
                          R"({"w":{"saved_offsets":[-1]}})", R"({"w":{"saved_offsets":[NaN]}})",
                          R"({"w":{"saved_offsets":[18446744073709551616]}})"}) {
    INFO(bad);
    refuse(cut(bad), {"1.st"});
  }
  refuse(cut(R"({"w":{"saved_offsets":[NaN]}})"), {"\"w\""});
  refuse(cut(R"({"w":{"saved_offsets":[]}})"), {"1.st", "\"w\""});
  refuse(cut(R"({"w":{"saved_offsets":[18446744073709551615]}})"), {"1.st", "\"w\""});
  refuse(cut(R"({"w":{"saved_offsets":[9223372036854775807]}})"), {"1.st", "\"w\""});
  refuse(cut(R"({"w":{"saved_offsets":[1]}})"), {"1.st", "[0] is missing"});

  // as cheap for each tensor as for a few: were it quadratic, it would not end
  constexpr int count = 200'000;
  safetensors_head many{.data_at = 8};
  std::string offsets = "{";
  for (int i = 0; i < count; ++i) {
    const std::string name = "tensor " + std::to_string(1'000'000 + i);
    many.tensors.push_back({name, tensor_type::u8, {}, std::uint64_t(i), std::uint64_t(i) + 1});
    offsets += (i == 0 ? "\"" : ",\"") + name + R"(":{"saved_offsets":[]})";
  }
  many.data_bytes = count;
  many.metadata = {{"DCP_SHARDING_INFO", offsets + '}'}};
  CHECK(mds::detail::layout_of_files(heads{{"1.st", many}}).tensors.size() == count);
}
