// mdstream write and mdstream merge-index.

#include "cli/running.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

using namespace cli_test;

namespace cli_test {

// The arguments of write for a golden dataset, as its writer was given them.
inline std::string write_arguments(const json& about) {
  const std::string format = about["format"];
  std::string out = " --format " + (format == "json" ? "jsonl" : format);
  for (const auto& [name, encoding] : about["columns"].items())
    out += " '--column=" + name + "=" + encoding.get<std::string>() + "'";
  const json& given = about["writer_kwargs"];
  if (!given.contains("hashes")) out += " --hashes none";
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
  refused(" --column x=int", "{}", {"line 2 of stdin", "column \"x\"", "no value"});
  refused(" --column x=int", R"({"y": 2})", {"line 2 of stdin", "\"y\" has no column"});
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

TEST_CASE("members without a column, and shards of a writer that was killed, are named", "[cli]") {
  const folder files;
  std::ofstream(files / "in") << "{\"x\": 1, \"y\": 2}\n";
  check_error(run("write --column x=int --out " + (files / "one") + " <" + (files / "in")), 1,
              {"\"y\" has no column", "line 1 of stdin"});
  write_rows(files / "rows", 0, 5);
  fs::remove(files / "rows/index.json");
  check_error(run("write --column x=int --out " + (files / "rows") + " </dev/null"), 1,
              {"did not finish", "existing", "replace"});
  CHECK(run("write --existing replace --column x=int --out " + (files / "rows") + " </dev/null")
            .status == 0);
}

TEST_CASE("a write that left only some shards is resumed with the same lines", "[cli]") {
  const folder files;
  {
    std::ofstream lines(files / "in");
    for (int i = 0; i < 500; ++i) lines << "{\"x\": " << i << "}\n" << (i % 7 == 0 ? "\n" : "");
  }
  const std::string what = "write --column x=int --size-limit 600 --out ";
  const auto write = [&](const std::string& out, const std::string& more) {
    return run(what + (files / out) + more + " <" + (files / "in"));
  };
  CHECK(write("whole", "").status == 0);
  fs::create_directory(files / "left");
  for (int i = 0; i < 4; ++i)
    fs::copy(files / ("whole/shard.0000" + std::to_string(i) + ".mds"), files / "left");
  check_error(write("left", ""), 1, {"did not finish", "resume"});
  const json report = write("left", " --existing resume").json();
  CHECK(report["kept_samples"].get<int>() > 100);
  CHECK(report["kept_samples"].get<int>() + report["samples"].get<int>() == 500);
  check_same_files(files / "whole", files / "left");
  CHECK(write("left", " --existing resume").json()["samples"] == 0);
  check_same_files(files / "whole", files / "left");
  CHECK_FALSE(write("new", "").json().contains("kept_samples"));

  check_error(run(what + (files / "left") + " --existing resume </dev/null"), 1,
              {"fewer lines", files / "left"});
  check_error(run("write --column x=int --size-limit 700 --out " + (files / "left") +
                  " --existing append --part 0/2 </dev/null"),
              1, {"part", "resume"});
  check_error(write("left", " --existing renew"), 2, {"error, replace, append and resume"});
}

TEST_CASE("processes that each write a part make one dataset", "[cli]") {
  const folder files;
  const std::string what =
      "write --column x=int --size-limit 300 --out " + (files / "all") + " --part ";
  std::vector<std::thread> processes;
  for (int part = 0; part < 4; ++part) {
    std::ofstream lines(files / std::to_string(part));
    for (int i = 0; i < 50; ++i) lines << "{\"x\": " << 50 * part + i << "}\n";
  }
  for (int part = 0; part < 4; ++part)
    processes.emplace_back([&, part] {
      const std::string number = std::to_string(part);
      (void)run(what + number + "/4 <" + (files / number));
    });
  for (std::thread& each : processes) each.join();
  const auto rows = run("cat " + (files / "all")).lines();
  REQUIRE(rows.size() == 200);
  for (int i = 0; i < 200; ++i) CHECK(rows[static_cast<std::size_t>(i)]["x"] == i);
  for (const std::string part : {"4/4", "0/0", "1", "1/", "/4", "-1/4", "1/4x"})
    check_error(run(what + part + " </dev/null"), 2, {"--part " + part, "0/8"});
}

TEST_CASE("a copy of what was written is the cache of a loader", "[cli]") {
  const folder files;
  {
    std::ofstream lines(files / "in");
    for (int i = 0; i < 100; ++i) lines << "{\"x\": " << i << "}\n";
  }
  CHECK(run("write --column x=int --size-limit 300 --out " + (files / "remote") + " --keep-local " +
            (files / "kept") + " <" + (files / "in"))
            .status == 0);
  check_same_files(files / "remote", files / "kept");
  for (const auto& each : fs::directory_iterator(files / "remote"))
    if (each.path().extension() == ".mds") fs::remove(each.path());
  std::ofstream(files / "config.json") << json{
      {"streams", {{{"remote", files / "remote"}, {"local", files / "kept"}}}}, {"batch_size", 10}};
  const answer streamed = run("stream --config " + (files / "config.json"));
  INFO(streamed.err);
  CHECK(streamed.status == 0);
}

TEST_CASE("merge-index refuses datasets of different columns, and finding none", "[cli]") {
  const folder files;
  check_error(run("merge-index " + files.path()), 1, {"nothing to merge", files.path()});
  check_error(run("merge-index " + (files / "none")), 1, {"nothing to merge"});
  std::ofstream(files / "in") << "{\"x\": 1}\n";
  for (const std::string name : {"a=int", "b=str"}) {
    std::ofstream(files / "in") << (name == "a=int" ? "{\"x\": 1}\n" : "{\"x\": \"1\"}\n");
    CHECK(run("write --column x=" + name.substr(2) + " --out " + (files / name.substr(0, 1)) +
              " <" + (files / "in"))
              .status == 0);
  }
  check_error(run("merge-index " + files.path()), 1, {"(x: int)", "(x: str)", "b/index.json"});
  CHECK_FALSE(fs::exists(files / "index.json"));
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

  check_error(run("merge-index --out " + (files / "all/10") + " " + (files / "all/2")), 1,
              {"does not lie below", files / "all/10"});

  check_error(run("merge-index"), 2, {"urls"});
  check_error(run("merge-index a b"), 2, {"--out"});
  check_error(run("merge-index --out " + (files / "all") + " " + (files / "none")), 1, {"none"});
  fs::create_directory(files / "empty");
  check_error(run("merge-index " + (files / "empty")), 1, {"nothing to merge"});
  CHECK_FALSE(fs::exists(files / "empty/index.json"));
}
