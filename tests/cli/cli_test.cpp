// The command line as scripts see it: stdout, stderr and the exit status.

#include <mdstream/core/fnv.hpp>
#include <mdstream/mdstream.hpp>

#include "support/catch.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace cli_test {

namespace fs = std::filesystem;
namespace mds = mdstream;
using json = nlohmann::json;

const std::string golden = MDSTREAM_TEST_DATA "/golden/";

struct folder {
  fs::path path;
  folder() {
    std::string pattern = (fs::temp_directory_path() / "cli-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { fs::remove_all(path); }
  [[nodiscard]] std::string operator/(const std::string& name) const {
    return (path / name).string();
  }
};

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct answer {
  int status;
  std::string out, err;

  [[nodiscard]] std::vector<json> lines() const {
    std::vector<json> found;
    std::istringstream in(out);
    for (std::string line; std::getline(in, line);) found.push_back(json::parse(line));
    return found;
  }
};

inline answer run(const std::string& arguments) {
  const folder files;
  const int status = std::system(
      (MDSTREAM_CLI " " + arguments + " >" + (files / "out") + " 2>" + (files / "err")).c_str());
  return {WEXITSTATUS(status), text_of(files / "out"), text_of(files / "err")};
}

// One line that begins as documented and holds all pieces.
inline void check_error(const answer& got, int status, const std::vector<std::string>& pieces) {
  INFO(got.err);
  CHECK(got.status == status);
  CHECK(got.err.rfind("mdstream: error: ", 0) == 0);
  CHECK(std::count(got.err.begin(), got.err.end(), '\n') == 1);
  for (const auto& piece : pieces) {
    INFO("names: " << piece);
    CHECK(got.err.find(piece) != std::string::npos);
  }
}

inline std::string hash_of(const std::vector<std::int64_t>& ids) {
  mds::fnv1a hash;
  for (const auto id : ids) hash.add(id);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash.value()));
  return text;
}

struct rows : mds::default_policies {
  using schema = mds::schema<mds::column<"id", std::uint32_t>, mds::column<"text", mds::str>>;
};

inline void write_rows(const std::string& where, std::uint32_t first, std::uint32_t count) {
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
    if (name == "encodings_pkl") continue;  // pickles are never executed: their bytes are shown
    INFO(name);
    const auto expected = json::parse(text_of((entry.path() / "samples.json").string()));
    std::map<std::string, json> by_place;
    std::set<std::string> splits;
    const auto place = [](const json& sample) {
      return sample.value("split", "") + "/" + sample["shard"].dump() + "/" +
             sample["index"].dump();
    };
    for (const json& sample : expected) {
      by_place[place(sample)] = sample;
      splits.insert(sample.value("split", ""));
    }
    std::size_t seen = 0;
    for (const auto& split : splits) {
      const auto got = run("cat --typed " + (entry.path() / "data").string() +
                           (split.empty() ? "" : " --split " + split));
      CHECK(got.err.empty());
      for (const json& sample : got.lines()) {
        CHECK(sample == by_place[place(sample)]);
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
  CHECK(run("verify " + (files / "rows")).status == 0);

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
    mds::writer<rows> out({.out = files / "many"});
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
    CHECK(std::count(all.out.begin(), all.out.end(), '\n') == 40);
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

TEST_CASE("stream runs the loader, resumes from a state, and its digests are of the raw samples",
          "[cli]") {
  const folder files;
  write_rows(files / "a", 0, 60);
  write_rows(files / "b", 100, 40);
  const json config = {{"streams", {{{"remote", files / "a"}}, {{"remote", files / "b"}}}},
                       {"local", files / "cache"},
                       {"batch_size", 8},
                       {"shuffle", true},
                       {"shuffle_seed", 7},
                       {"cache_limit", "1mb"}};
  std::ofstream(files / "config.json") << config;
  const std::string what = "stream --digest --config " + (files / "config.json");

  const auto whole = run(what).lines();
  REQUIRE(whole.size() == 14);
  CHECK(whole.back()["summary"]["samples"] == 100);
  CHECK(whole.back()["summary"]["bytes_fetched"].get<int>() > 1000);
  std::multiset<std::int64_t> ids;
  for (std::size_t i = 0; i + 1 < whole.size(); ++i) {
    CHECK(whole[i]["batch"] == i);
    CHECK(whole[i]["digest"].get<std::string>().size() == 16);
    for (const auto& id : whole[i]["ids"]) ids.insert(id.get<std::int64_t>());
  }
  CHECK(std::set<std::int64_t>(ids.begin(), ids.end()).size() == 100);

  const auto first = run(what + " --batches 5 --save-state " + (files / "state")).lines();
  const auto second = run(what + " --state " + (files / "state")).lines();
  REQUIRE(first.size() == 6);
  REQUIRE(second.size() == 9);
  for (std::size_t i = 0; i < 5; ++i) CHECK(first[i] == whole[i]);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(second[i]["ids"] == whole[5 + i]["ids"]);
    CHECK(second[i]["digest"] == whole[5 + i]["digest"]);
  }
}

namespace cli_test {

// The arguments of write for a golden dataset, as its writer was given them.
inline std::string write_arguments(const json& about) {
  const std::string format = about["format"];
  std::string out = " --format " + (format == "json" ? "jsonl" : format);
  for (const auto& [name, encoding] : about["columns"].items())
    out += " '--column=" + name + "=" + encoding.get<std::string>() + "'";
  const json& given = about["writer_kwargs"];
  for (const auto& [name, value] : given.items()) {
    std::string text = value.is_null()     ? "0"
                       : value.is_string() ? value.get<std::string>()
                                           : value.dump();
    if (value.is_array()) {
      text.clear();
      for (const json& each : value) text += (text.empty() ? "" : ",") + each.get<std::string>();
    }
    out += " '--" + (name == "size_limit" ? "size-limit" : name) + "=" + text + "'";
  }
  return out;
}

inline void write_lines(const std::string& path, const json& samples) {
  std::ofstream out(path);
  for (const json& sample : samples) out << sample.dump() << '\n';
}

inline void check_same_files(const fs::path& expected, const std::string& got) {
  std::size_t files = 0;
  for (const auto& file : fs::directory_iterator(expected)) {
    const std::string name = file.path().filename().string();
    INFO(name);
    CHECK(text_of(file.path().string()) == text_of(got + "/" + name));
    ++files;
  }
  CHECK(std::distance(fs::directory_iterator(got), fs::directory_iterator()) ==
        static_cast<std::ptrdiff_t>(files));
}

}  // namespace cli_test

TEST_CASE("write --typed writes what the reference wrote", "[cli]") {
  std::size_t written = 0;
  for (const auto& entry : fs::directory_iterator(golden + "mds")) {
    const auto about = json::parse(text_of((entry.path() / "dataset.json").string()));
    const std::string name = entry.path().filename().string();
    // Without inputs a dataset was made otherwise. Pickles are not written; images of lists were
    // encoded by the reference.
    if (!about.contains("inputs") || name == "encodings_pkl" || name == "encodings_all") continue;
    INFO(name);
    const folder files;
    write_lines(files / "lines", about["inputs"]);
    const auto got = run("write --typed --out " + (files / "out") + write_arguments(about) + " <" +
                         (files / "lines"));
    INFO(got.err);
    REQUIRE(got.status == 0);
    CHECK(got.lines().at(0)["samples"] == about["inputs"].size());
    ++written;
    if (!about["writer_kwargs"].contains("compression")) {
      check_same_files(entry.path() / "data", files / "out");
      continue;
    }
    CHECK(run("verify " + (files / "out")).status == 0);
    const std::string data = (entry.path() / "data").string();
    CHECK(run("cat --typed " + (files / "out")).out == run("cat --typed " + data).out);
  }
  CHECK(written > 20);
}

TEST_CASE("write takes what cat prints", "[cli]") {
  const folder files;
  const std::string columns =
      " --column b=bytes --column s=str --column i=int --column u=uint8 --column f=float32"
      " --column big=str_int --column d=str_decimal --column x=str_float --column j=json"
      " --column a=ndarray --column t=ndarray:int16 --column m=ndarray:float64:2,2"
      " --column files=jpeg_array";
  std::ofstream(files / "lines")
      << R"({"b": "AP+A", "s": "\u00fc \ud83d\ude42", "i": -5, "u": 255, "f": 0.5, )"
      << R"("big": 123456789012345678901234567890, "d": "1.50", "x": 2, "j": {"k": [1, null]}, )"
      << R"("a": [[1, 2], [3, 4]], "t": [7], "m": [[1, 2.5], [-1, 0]], "files": ["", "AQ=="]})"
      << "\n\n";
  REQUIRE(run("write --out " + (files / "a") + columns + " <" + (files / "lines")).status == 0);
  const auto plain = run("cat " + (files / "a"));
  CHECK(plain.lines().at(0) ==
        json::parse(
            R"({"b": "AP+A", "s": "ü 🙂", "i": -5, "u": 255, "f": 0.5, "d": "1.50", "x": 2.0,
                "big": "123456789012345678901234567890", "j": {"k": [1, null]},
                "a": [[1, 2], [3, 4]], "t": [7], "m": [[1.0, 2.5], [-1.0, 0.0]],
                "files": ["", "AQ=="]})"));
  std::ofstream(files / "again") << plain.out;
  REQUIRE(run("write --out " + (files / "b") + columns + " <" + (files / "again")).status == 0);
  check_same_files(files / "a", files / "b");

  const std::string rows = " --column 'n=int' --column 'w=str' --format xsv --newline '\\r\\n'";
  std::ofstream(files / "rows") << R"({"n": 1, "w": "a b"})" << "\n" << R"({"n": 2, "w": "c"})";
  const auto xsv =
      run("write --out " + (files / "c") + rows + " --separator '\\t' <" + (files / "rows"));
  REQUIRE(xsv.status == 0);
  CHECK(text_of(files / "c/shard.00000.xsv") == "n\tw\r\n1\ta b\r\n2\tc\r\n");
  CHECK(run("write --existing append --separator '\\t' --out " + (files / "c") + rows + " <" +
            (files / "rows"))
            .status == 0);
  CHECK(run("cat " + (files / "c")).lines().size() == 4);
}

TEST_CASE("write names the line and column of what it refuses, and leaves no index", "[cli]") {
  const folder files;
  const std::string out = "write --out " + (files / "out");
  const auto refused = [&](const std::string& columns, const std::string& line,
                           std::vector<std::string> pieces) {
    std::ofstream(files / "lines") << "{\"x\": 1}\n" << line << "\n";
    if (columns.empty()) std::ofstream(files / "lines") << line << "\n";
    const auto got =
        run(out + (columns.empty() ? " --column x=ndarray" : columns) + " <" + (files / "lines"));
    check_error(got, 1, pieces);
    CHECK_FALSE(fs::exists(files / "out/index.json"));
  };
  refused(" --column x=int", "{", {"line 2 of stdin", "byte"});
  refused(" --column x=int", R"({"y": 2})", {"line 2 of stdin", "column \"x\"", "no value"});
  refused(" --column x=uint8", R"({"x": 256})", {"line 2 of stdin", "column \"x\"", "256"});
  refused(" --column x=int", R"({"x": "2"})", {"column \"x\"", "a string"});
  refused(" --column x=int", "[1]", {"line 2", "object"});
  refused("", R"({"x": [[1], [2, 3]]})", {"column \"x\"", "differ in length"});
  refused("", R"({"x": []})", {"column \"x\"", "without elements"});

  const auto wrong = [&](const std::string& arguments, std::vector<std::string> pieces) {
    check_error(run("write --out " + (files / "out") + " " + arguments + " </dev/null"), 2, pieces);
  };
  wrong("--column x", {"x", "NAME=ENCODING"});
  wrong("--column x=integer", {"integer"});
  wrong("--column x=int --format parquet", {"parquet", "jsonl"});
  wrong("--column x=int --compression rar", {"rar"});
  wrong("--column x=int --hashes crc1", {"crc1"});
  wrong("--column x=int --size-limit 4gb", {"4 GiB"});
  wrong("--column x=int --size-limit much", {"much"});
  wrong("--column x=int --format xsv", {"separator"});
  wrong("--column x=int --separator ,", {"--separator"});
  wrong("--column x=ndarray --format csv", {"ndarray", "str, int and float"});
  wrong("--column x=int --existing keep", {"keep", "append"});

  write_rows(files / "rows", 0, 5);
  check_error(run("write --column x=int --out " + (files / "rows") + " </dev/null"), 1,
              {files / "rows", "already there"});
}

TEST_CASE("merge-index puts one index over datasets side by side", "[cli]") {
  const folder files;
  const std::string merged = (fs::path(golden) / "mds/merged/data").string();
  fs::copy(merged, files / "all", fs::copy_options::recursive);
  fs::remove(files / "all/index.json");
  CHECK(run("merge-index " + (files / "all")).lines().at(0)["merged"] == 4);
  CHECK(text_of(files / "all/index.json") == text_of(merged + "/index.json"));

  check_error(run("merge-index " + (files / "all")), 1, {"index already", "index.json"});
  fs::remove(files / "all/index.json");
  const auto two = run("merge-index --out " + (files / "all") + " " + (files / "all/10") + " " +
                       (files / "all/2/index.json"));
  CHECK(two.lines().at(0)["merged"] == 2);
  const auto got = json::parse(text_of(files / "all/index.json"));
  CHECK(got["shards"].front()["raw_data"]["basename"] == "10/shard.00000.mds");
  CHECK(got["shards"].back()["raw_data"]["basename"].get<std::string>().rfind("2/", 0) == 0);

  check_error(run("merge-index"), 2, {"urls"});
  check_error(run("merge-index a b"), 2, {"--out"});
  check_error(run("merge-index --out " + (files / "all") + " " + (files / "none")), 1, {"none"});
  fs::create_directory(files / "empty");
  CHECK(run("merge-index " + (files / "empty")).lines().at(0)["merged"] == 0);
  CHECK_FALSE(fs::exists(files / "empty/index.json"));
}

TEST_CASE("faults of the command line end with 2, faults of the data with 1", "[cli]") {
  const folder files;
  check_error(run("cat"), 2, {"url"});
  check_error(run(""), 2, {"subcommand"});
  check_error(run("order"), 2, {"--cases", "--samples"});
  check_error(run("order --samples ten"), 2, {"ten"});
  check_error(run("order --samples 5 --shards 9"), 2, {"--shards"});
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
  for (const char* what : {"", "order ", "cat ", "inspect ", "verify ", "write ", "merge-index ",
                           "stream ", "copy "}) {
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
  for (const char* word :
       {"order", "cat", "inspect", "verify", "stream", "shuffler", "typed", "save"}) {
    INFO(word);
    CHECK(man.find(word) != std::string::npos);
    CHECK(completion.find(word) != std::string::npos);
  }
  const folder files;
  std::ofstream(files / "completion") << completion;
  CHECK(std::system(("bash -n " + (files / "completion")).c_str()) == 0);
}
