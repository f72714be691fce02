// The command line as scripts see it: stdout, stderr and the exit status. What all commands have in
// common, and those that look at datasets.

#include "cli/running.hpp"

#include <mdstream/core/fnv.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cli_test {

namespace mds = mdstream;

std::string hash_of(const std::vector<std::int64_t>& ids) {
  mds::fnv1a hash;
  for (const auto id : ids) hash.add(id);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash.value()));
  return text;
}

using rows =
    mds::policies<mds::schema<mds::column<"id", std::uint32_t>, mds::column<"text", mds::str>>>;

void write_rows(const std::string& where, std::uint32_t first, std::uint32_t count) {
  mds::writer<rows> out({.out = where, .size_limit = mds::byte_size(256)});
  for (std::uint32_t i = first; i < first + count; ++i) out.write(i, "row " + std::to_string(i));
  out.finish();
}

}  // namespace cli_test

using namespace cli_test;

TEST_CASE("order --cases answers every golden case", "[cli]") {
  const auto file = json::parse(text_of(golden + "epochs.json"));
  const auto got = run("order --cases " + golden + "epochs.json").lines();
  REQUIRE(got.size() == file["cases"].size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const json& given = file["cases"][i];
    INFO("case " << i << ": " << given.dump().substr(0, 300));
    CHECK(got[i]["case"] == i);
    if (given.contains("error")) {
      CHECK(got[i].contains("error"));
      continue;
    }
    const json& out = given["out"];
    for (const char* key : {"ncn_eff", "block_size_eff", "epoch_size_eff", "shape"}) {
      CHECK(got[i][key] == out[key]);
    }
    CHECK(got[i]["hash"] ==
          (out.contains("hash") ? out["hash"].get<std::string>() : hash_of(out["ids"])));
  }
}

TEST_CASE("order prints parts of what it prints in whole", "[cli]") {
  const std::string what =
      "order --samples 1000 --shards 7 --world 1,2,1 --batch-size 4 --block-size 100";
  const std::string all = run(what).out;
  std::string pieces;
  for (const int from : {0, 300, 600, 900}) {
    pieces += run(what + " --from " + std::to_string(from) + " --count 300").out;
  }
  CHECK(std::count(all.begin(), all.end(), '\n') == 1000);
  CHECK(pieces == all);
  const std::string quiet = run(what + " --quiet").out;
  CHECK(quiet.size() == 17);
}

TEST_CASE("cat --typed prints what the reference reads", "[cli]") {
  for (const auto& entry : fs::directory_iterator(golden + "mds")) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    const auto expected = json::parse(text_of((entry.path() / "samples.json").string()));
    std::map<std::string, json> by_position;
    std::set<std::string> splits;
    const auto position_of = [](const json& sample) {
      return sample.value("split", "") + "/" + sample["shard"].dump() + "/" +
             sample["index"].dump();
    };
    for (const json& sample : expected) {
      by_position[position_of(sample)] = sample;
      splits.insert(sample.value("split", ""));
    }
    std::size_t seen = 0;
    for (const auto& split : splits) {
      const auto got = run("cat --typed " + (entry.path() / "data").string() +
                           (split.empty() ? "" : " --split " + split) +
                           (name == "encodings_pkl" ? " --allow-unsafe-types" : ""));
      CHECK(got.err.empty());
      for (const json& sample : got.lines()) {
        CHECK(sample == by_position[position_of(sample)]);
        ++seen;
      }
    }
    CHECK(seen == expected.size());
  }
}

TEST_CASE("cat prints a part, in plain JSON", "[cli]") {
  const folder files;
  write_rows(files / "rows", 0, 50);
  const auto got = run("cat " + (files / "rows") + " --from 20 --limit 3").lines();
  REQUIRE(got.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(got[i] == json({{"id", 20 + i}, {"text", "row " + std::to_string(20 + i)}}));
  }
}

TEST_CASE("inspect tells what a dataset is", "[cli]") {
  const folder files;
  write_rows(files / "rows", 0, 50);
  const json got = run("inspect --json " + (files / "rows")).lines().at(0);
  CHECK(got["samples"] == 50);
  CHECK(got["shards"].get<int>() > 3);
  CHECK(got["columns"] == json::parse(R"([{"name":"id","encoding":"uint32","bytes":4},
                                          {"name":"text","encoding":"str","bytes":null}])"));
  const std::string table = run("inspect " + (files / "rows")).out;
  CHECK(table.find("samples        50") != std::string::npos);
  CHECK(table.find("text: str, variable size") != std::string::npos);
}

TEST_CASE("verify passes what is whole and names what is not", "[cli]") {
  const folder files;
  write_rows(files / "rows", 0, 50);
  CHECK(run("verify " + (files / "rows")).out.find("all is well") != std::string::npos);
  {
    mds::writer<rows> out({.out = files / "plain", .hashes = {}});
    out.write(std::uint32_t{0}, "row");
    out.finish();
    const auto got = run("verify " + (files / "plain"));
    CHECK(got.status == 0);
    CHECK(got.out.find("uncheckable: 1 shard") != std::string::npos);
    CHECK(got.out.find("shard 0: the index records no hash") == std::string::npos);
    CHECK(got.out.find("well") == std::string::npos);
  }

  SECTION("a shard cut short") {
    const std::string shard = files / "rows/shard.00001.mds";
    fs::resize_file(shard, fs::file_size(shard) - 1);
    const auto got = run("verify " + (files / "rows"));
    check_error(got, 1, {"fault"});
    CHECK(got.out.find("shard.00001.mds") != std::string::npos);
    CHECK(got.out.find("the index says") != std::string::npos);
  }
  SECTION("a shard missing") {
    fs::remove(files / "rows/shard.00000.mds");
    const auto got = run("verify " + (files / "rows"));
    check_error(got, 1, {"fault"});
    CHECK(got.out.find("shard.00000.mds") != std::string::npos);
  }
  SECTION("offsets that run backwards, in every sample") {
    mds::writer<rows> out({.out = files / "many", .hashes = {}});
    for (std::uint32_t i = 0; i < 40; ++i) out.write(i, "row");
    out.finish();
    std::fstream shard(files / "many/shard.00000.mds",
                       std::ios::in | std::ios::out | std::ios::binary);
    shard.seekp(4);
    for (int i = 0; i < 4 * 41; ++i) shard.put('\0');
    shard.close();
    const auto few = run("verify " + (files / "many")),
               all = run("verify --all " + (files / "many"));
    CHECK(few.status == 1);
    CHECK(std::count(few.out.begin(), few.out.end(), '\n') == 11);
    CHECK(std::count(all.out.begin(), all.out.end(), '\n') == 40 + 1);  // and that it has no hash
  }
  SECTION("a byte changed under a hash") {
    fs::copy(golden + "mds/all_hashes/data", files / "hashed");
    CHECK(run("verify " + (files / "hashed")).status == 0);
    std::fstream shard(files / "hashed/shard.00000.mds.zstd",
                       std::ios::in | std::ios::out | std::ios::binary);
    shard.seekp(100);
    shard.put('\x55');
    shard.close();
    const auto got = run("verify " + (files / "hashed"));
    check_error(got, 1, {"fault"});
    CHECK(got.out.find(" is ") != std::string::npos);
  }
}

TEST_CASE("cat checks what hashes there are", "[cli]") {
  const folder files;
  const std::string out = files / "out";
  std::ofstream(files / "in") << "{\"x\": 1}\n{\"x\": 2}\n";
  CHECK(run("write --column x=int --hashes xxh64 --out " + out + " <" + (files / "in")).status ==
        0);
  CHECK(run("cat " + out).status == 0);
  std::fstream(out + "/shard.00000.mds", std::ios::in | std::ios::out | std::ios::ate)
      .seekp(-1, std::ios::end)
      .put('\x55');
  const auto damaged = run("cat " + out);
  check_error(damaged, 1, {"xxh64", "shard.00000.mds"});
  CHECK(damaged.out.empty());
}

TEST_CASE("misspelt commands and broken configurations are refused in words", "[cli]") {
  const folder files;
  check_error(run("inspekt x"), 2, {"no command \"inspekt\"", "inspect, verify"});
  check_error(run("stream --config " + files.path()), 1, {"directory", files.path()});
  std::ofstream(files / "wrong") << R"({"batch_size": [1]})";
  const auto wrong = run("stream --config " + (files / "wrong"));
  check_error(wrong, 2, {"batch_size", "[1]"});
  CHECK(wrong.err.find("json.exception") == std::string::npos);
  std::ofstream(files / "broken") << "{";
  const auto broken = run("stream --config " + (files / "broken"));
  check_error(broken, 2, {files / "broken", "no JSON"});
  CHECK(broken.err.find("json.exception") == std::string::npos);
  const auto man = run("--man");
  for (const char* part : {"130 and 143", "ENVIRONMENT", "EXAMPLES"}) {
    CHECK(man.out.find(part) != std::string::npos);
  }
}

TEST_CASE("verify looks through a cache, and repairs it", "[cli]") {
  const folder files;
  write_rows(files / "a", 0, 60);
  write_rows(files / "b", 100, 40);
  const json config = {{"streams", {{{"remote", files / "a"}}, {{"remote", files / "b"}}}},
                       {"local", files / "cache"},
                       {"batch_size", 8}};
  std::ofstream(files / "config.json") << config;
  const std::string stream = "stream --config " + (files / "config.json");
  const std::string verify = "verify " + (files / "cache");
  const auto fetched = [&] { return run(stream).lines().back()["summary"]["bytes_fetched"]; };
  CHECK(fetched() > 0);
  CHECK(run(verify).status == 0);
  CHECK(fetched() == 0);

  std::vector<fs::path> shards;
  for (const auto& entry : fs::recursive_directory_iterator(files / "cache"))
    if (entry.path().extension() == ".mds") shards.push_back(entry.path());
  REQUIRE(shards.size() > 4);
  fs::remove(shards[0]);  // a cache need not hold everything
  CHECK(run(verify).status == 0);
  std::fstream(shards[1], std::ios::in | std::ios::out | std::ios::binary).put('\x55');
  const auto size = static_cast<std::int64_t>(fs::file_size(shards[1]));
  const auto absent =
      static_cast<std::int64_t>(fs::file_size(fs::path(files / "a") / shards[0].filename()));

  const auto got = run(verify);
  check_error(got, 1, {"fault"});
  CHECK(got.out.find(shards[1].filename().string()) != std::string::npos);
  CHECK(fs::exists(shards[1]));
  const auto repaired = run(verify + " --repair");
  CHECK(repaired.status == 0);
  CHECK(repaired.out.find("1 deleted") != std::string::npos);
  CHECK_FALSE(fs::exists(shards[1]));
  CHECK(run(verify).status == 0);
  const auto again = fetched();
  CHECK(again > size);
  CHECK(again < size + 3 * absent);
  check_error(run("verify --repair " + (files / "a")), 2, {"--repair"});
}

TEST_CASE("faults of the command line end with 2, faults of the data with 1", "[cli]") {
  const folder files;
  check_error(run("cat"), 2, {"url"});
  check_error(run(""), 2, {"subcommand"});
  check_error(run("order"), 2, {"--cases", "--samples"});
  check_error(run("order --samples ten"), 2, {"ten"});
  check_error(run("order --samples 5 --shards 9"), 2, {"--shards"});
  check_error(run("order --samples -1 --shards 2"), 2, {"--samples", "-1 is negative"});
  check_error(run("cat /nothing --limit -1"), 2, {"--limit", "-1 is negative"});
  check_error(run("cat " + (files / "nothing")), 1,
              {files / "nothing", "index.json", "No such file"});
  check_error(run("cat s3q://bucket/x"), 1, {"s3q"});
  std::ofstream(files / "config.json") << R"({"remote": "/x", "batchsize": 3})";
  check_error(run("stream --config " + (files / "config.json")), 2, {"batchsize"});
  std::ofstream(files / "config.json") << R"({"remote": "/x", "batch_size": "three"})";
  check_error(run("stream --config " + (files / "config.json")), 2, {"batch_size"});
  std::ofstream(files / "config.json") << "{";
  check_error(run("stream --config " + (files / "config.json")), 2, {"config.json"});
  check_error(run("stream --config " + (files / "none.json")), 1, {"none.json"});
}

TEST_CASE("help is there on every level", "[cli]") {
  for (const char* what : {"", "order ", "cat ", "inspect ", "verify ", "write ", "index ",
                           "merge-index ", "stream ", "copy "}) {
    const auto got = run(std::string(what) + "--help");
    CHECK(got.status == 0);
    CHECK(got.out.find("Usage: ") != std::string::npos);
    CHECK(got.err.empty());
  }
  CHECK(run("--version").out == "0.1.0\n");
}

TEST_CASE("the manual page and the completion name every option", "[cli]") {
  const std::string man = run("--man").out, completion = run("--bash-completion").out;
  CHECK(man.rfind(".TH MDSTREAM 1", 0) == 0);
  for (const char* word : {"order", "cat", "inspect", "verify", "stream", "shuffler", "typed",
                           "save", "checkpoint", "pin", "grace"}) {
    INFO(word);
    CHECK(man.find(word) != std::string::npos);
    CHECK(completion.find(word) != std::string::npos);
  }
  const folder files;
  std::ofstream(files / "completion") << completion;
  CHECK(std::system(("bash -n " + (files / "completion")).c_str()) == 0);
}
