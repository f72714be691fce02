#include <mdstream/interop/json.hpp>
#include <mdstream/mdstream.hpp>

#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

// Values of json columns as nlohmann::json.

namespace mds = mdstream;

namespace json_test {

using nlohmann::json;

using policies = mds::policies<
    mds::schema<mds::column<"id", mds::int_>, mds::column<"meta", mds::nlohmann_json>>>;
using texts =
    mds::policies<mds::schema<mds::column<"id", mds::int_>, mds::column<"meta", mds::json_text>>>;

json value_of(std::int64_t i) {
  return {{"n", i},
          {"text", "\u00e9\"\n"},
          {"list", {1, nullptr, true, 0.5}},
          {"none", json::object()}};
}

/// What the values of a batch's column sum up to, by a transform.
struct number {
  using output = mds::schema<mds::column<"n", mds::int_>>;
  template <class Sample>
  void operator()(const Sample& in, mds::sample_writer<output>& out, mds::sample_generator&) const {
    const json meta = in.template get<"meta">();
    out.write(meta.at("n").template get<std::int64_t>());
  }
};
using numbered = policies::with<number>;

}  // namespace json_test

TEST_CASE("json columns are written from and read as trees") {
  using namespace json_test;
  const scratch_directory::scratch dir;
  mds::writer<policies> out({.out = dir / "data"});
  for (std::int64_t i = 0; i < 20; ++i) out.write(i, value_of(i));
  out.finish();
  const mds::dataset<policies> trees({.local = dir / "data"});
  const mds::dataset<texts> as_text({.local = dir / "data"});
  const mds::dataset<> by_name({.local = dir / "data"});
  CHECK(by_name.layout().describe() == "id: int, meta: json");
  for (std::uint64_t i = 0; i < 20; ++i) {
    const json expected = value_of(static_cast<std::int64_t>(i));
    CHECK(trees[i].get<"meta">() == expected);
    const auto text = as_text[i];
    CHECK(json::parse(text.get<"meta">()) == expected);
    CHECK(text.get<"meta", mds::nlohmann_json>() == expected);
    CHECK(by_name[i].get<mds::nlohmann_json>("meta") == expected);
  }
  const mds::loader_options given{.local = dir / "data", .batch_size = 5, .world = mds::world{}};
  mds::loader<policies> texts_of(given);
  for (const auto& batch : texts_of.epoch())
    for (std::size_t i = 0; i < batch.size(); ++i)
      CHECK(json::parse(batch.get<"meta">()[i]) == value_of(batch.ids()[i]));
  mds::loader<numbered> numbers(given);
  std::size_t samples = 0;
  for (const auto& batch : numbers.epoch()) {
    for (std::size_t i = 0; i < batch.size(); ++i)
      CHECK(batch.get<"n">().values()[i] == batch.ids()[i]);
    samples += batch.size();
  }
  CHECK(samples == 20);
}

TEST_CASE("json that is none is an error that names the column") {
  using namespace json_test;
  static_assert(!mds::writable_as<std::string, mds::nlohmann_json>);
  static_assert(mds::writable_as<json, mds::nlohmann_json>);
  const scratch_directory::scratch dir;
  mds::writer<policies> out({.out = dir / "data"});
  for (const std::string_view bad : {"", "{\"a\": 1", "nul", "[1, 2]]"})
    out.write(1, mds::as_bytes(bad));  // bytes are stored as they are
  support::expect_error([&] { out.write(1, json("\xff")); }, mds::errc::invalid_argument,
                        {"column \"meta\"", "UTF-8"});
  // Python writes these as NaN and Infinity, which are no JSON.
  const double infinity = std::numeric_limits<double>::infinity();
  for (const json& none : {json(infinity), json({{"a", {1, {{"b", -infinity}}}}}),
                           json({0.5, std::numeric_limits<double>::quiet_NaN()})})
    support::expect_error([&] { out.write(1, none); }, mds::errc::invalid_argument,
                          {"column \"meta\"", "json", "not finite"});
  for (const std::string_view bad : {"NaN", "[0.5, -Infinity]"}) out.write(1, mds::as_bytes(bad));
  out.finish();
  const mds::dataset<policies> data({.local = dir / "data"});
  REQUIRE(data.size() == 6);
  for (std::uint64_t i = 0; i < 6; ++i)
    support::expect_error([&] { (void)data[i].get<"meta">(); }, mds::errc::corrupt,
                          {"column \"meta\"", "json", "parse error"});
}
