#include "quickstart/corpus.hpp"

#include "store/scratch.hpp"
#include "support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace corpus_test {

namespace fs = std::filesystem;

struct folder {
  const scratch_directory::scratch made{};
  const fs::path path = made.path();

  void put(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
  }
};

inline quickstart::corpus_source all_of(const folder& where) {
  return {"prose", {where.path}, [](const fs::path&) { return true; }};
}

}  // namespace corpus_test

TEST_CASE("a corpus holds every different text once, on one side, in whole rows", "[quickstart]") {
  const corpus_test::folder folder;
  for (int i = 0; i < 200; ++i) {
    const std::string text = "text number " + std::to_string(i) + " " + std::string(100, 'x');
    folder.put("a/" + std::to_string(i), text);
    folder.put("again/" + std::to_string(i), text);
  }
  folder.put("binary", std::string("not\0text", 8));
  corpus_test::fs::create_symlink(folder.path / "a", folder.path / "loop");

  const auto rows = quickstart::collect(corpus_test::all_of(folder), {.least = 1000});
  REQUIRE(rows.train.size() % quickstart::row_bytes == 0);
  REQUIRE(rows.held_out.size() % quickstart::row_bytes == 0);
  std::multiset<std::string> seen;
  for (const auto* side : {&rows.train, &rows.held_out}) {
    for (std::size_t i = 0; i < side->size() / quickstart::row_bytes; ++i) {
      const auto row = quickstart::corpus::row(*side, i);
      seen.emplace(row.begin(), row.end());
    }
  }
  CHECK(seen.size() == 200);
  CHECK(std::set<std::string>(seen.begin(), seen.end()).size() == 200);
  CHECK(rows.held_out.size() > 0);
  CHECK(rows.train.size() > 3 * rows.held_out.size());

  const auto again = quickstart::collect(corpus_test::all_of(folder), {.least = 1000});
  CHECK(again.train == rows.train);
}

TEST_CASE("a corpus stops at its limits", "[quickstart]") {
  const corpus_test::folder folder;
  for (int i = 0; i < 100; ++i)
    folder.put(std::to_string(i), std::to_string(i) + std::string(5000, 'y'));
  const auto rows = quickstart::collect(corpus_test::all_of(folder),
                                        {.least = 1000, .most = 20'000, .of_a_file = 1000});
  CHECK(rows.train.size() >= 20'000);
  CHECK(rows.train.size() < 22'000);
}

TEST_CASE("folders with too little text are named, with what to do", "[quickstart]") {
  const corpus_test::folder folder;
  folder.put("short", "only this");
  std::string message;
  try {
    (void)quickstart::collect(corpus_test::all_of(folder), {});
  } catch (const std::runtime_error& e) {
    message = e.what();
  }
  INFO(message);
  CHECK(message.find(folder.path.string()) != std::string::npos);
  CHECK(message.find("1000000") != std::string::npos);
  CHECK(message.find("--prose FOLDER") != std::string::npos);
}

TEST_CASE("prose and code are told apart by name", "[quickstart]") {
  CHECK(quickstart::is_prose("/usr/share/doc/bash/copyright"));
  CHECK(quickstart::is_prose("/usr/share/common-licenses/GPL-3"));
  CHECK_FALSE(quickstart::is_prose("/usr/share/zoneinfo/Europe/Berlin"));
  CHECK(quickstart::is_code("/usr/include/c++/12/vector"));
  CHECK(quickstart::is_code("/usr/include/stdio.h"));
  CHECK_FALSE(quickstart::is_code("/usr/include/data.bin"));
}
