// Runs every fuzz target on its corpus, on the golden files, and on these with bytes cut off and
// changed.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "fuzz/targets.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

TEST_CASE("fuzz targets stand their corpus, whole, cut and changed", "[fuzz]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const fuzz::target& target : fuzz::targets) {
    INFO(target.name);
    const std::vector<std::string> corpus = fuzz::inputs_of(target.name);
    REQUIRE(corpus.size() > 1);
    for (const std::string& input : corpus) {
      CHECK_NOTHROW(target.run(input));
      const bool large = input.size() > 50'000;
      for (int i = 0; i < (large ? 2 : 20) && !input.empty(); ++i) {
        std::string changed =
            input.substr(0, random() % 4 == 0 ? random() % input.size() : input.size());
        for (auto n = random() % 4; n > 0 && !changed.empty(); --n) {
          // at the front, or at the end, where some formats tell what they hold
          const std::size_t at = random() % std::min<std::size_t>(changed.size(), 200);
          changed[random() % 2 == 0 ? at : changed.size() - 1 - at] = static_cast<char>(random());
        }
        CHECK_NOTHROW(target.run(changed));
      }
    }
  }
}

TEST_CASE("each folder of the corpus is a target's", "[fuzz]") {
  for (const std::string& folder : fuzz::corpus_names()) {
    INFO(folder);
    const auto is_its = [&](const fuzz::target& each) { return each.name == folder; };
    const bool needs_arrow = folder == "raw_parquet";
    CHECK((needs_arrow || std::ranges::any_of(fuzz::targets, is_its)));
  }
}
