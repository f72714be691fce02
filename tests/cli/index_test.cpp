// mdstream index, and cat and inspect of files that are no dataset.

#include <mdstream/cache/detail/shard_seal.hpp>

#include "cli/running.hpp"

#include <cstdint>
#include <fstream>
#include <string>

using namespace cli_test;

namespace {

void put(const std::string& path, const std::string& bytes) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("files are shown at once, indexed, and shown by the index", "[cli]") {
  const folder data;
  put(data / "en/a.jsonl", "{\"n\": 1, \"text\": \"one\"}\n{\"n\": 2, \"text\": \"two\"}\n");
  put(data / "en/b.jsonl", "{\"n\": 3, \"text\": \"three\"}\n");
  const auto check_rows = [&] {
    const auto rows = run("cat " + data.path()).lines();
    REQUIRE(rows.size() == 3);
    CHECK(rows[0] == json({{"n", 1}, {"text", "one"}}));
    const auto part = run("cat " + data.path() + " --from 1 --limit 1").lines();
    REQUIRE(part.size() == 1);
    CHECK(part[0]["text"] == "two");
  };
  check_rows();
  const json before = run("inspect --json " + data.path()).json();
  CHECK(before["samples"].is_null());
  CHECK(before["format"] == "jsonl");
  CHECK(before["objects"] == 2);
  CHECK(before["columns"].size() == 2);

  const json made = run("index --json " + data.path()).json();
  CHECK(made["samples"] == 3);
  CHECK(made["skipped"] == 0);
  CHECK(fs::exists(data / ".mdstream/rows.jsonl"));
  check_rows();
  CHECK(run("inspect --json " + data.path()).json()["samples"] == 3);

  put(data / "en/c.jsonl", "{\"n\": 4, \"text\": \"four\"}\n");
  const json updated = run("index --json --update " + data.path()).json();
  CHECK(updated["samples"] == 4);
  CHECK(updated["scanned_for_update"] == 1);
  CHECK(run("cat " + data.path()).lines().size() == 4);
  CHECK(run("cat " + (data / "en/b.jsonl")).lines().size() == 1);

  put(data / "en/a.jsonl", "{\"n\": 1}\n");
  check_error(run("cat " + data.path()), 1, {"a.jsonl", "has changed since it was indexed"});
}

TEST_CASE("files with a header, in lines, in archives and of tokens are shown", "[cli]") {
  const folder data;
  put(data / "a.csv", "id,text\n1,\"two\nlines\"\n2,b\n");
  put(data / "b.txt", "first\nsecond\n");
  put(data / "c.bin", std::string("\1\0\2\0\3\0\4\0", 8));
  const auto csv = run("cat " + data.path() + " --files '*.csv'").lines();
  REQUIRE(csv.size() == 2);
  CHECK(csv[0] == json({{"id", "1"}, {"text", "two\nlines"}}));
  CHECK(run("cat " + data.path() + " --files b.txt").lines().at(1) == json({{"text", "second"}}));
  CHECK(run("cat " + data.path() + " --files c.bin --window 2 --dtype uint16").lines().size() == 2);
  CHECK(run("cat " + data.path() + " --files b.txt --format files --column file=str")
            .lines()
            .at(0)["file"] == "first\nsecond\n");
}

TEST_CASE("an index says what it cannot do", "[cli]") {
  const folder data;
  check_error(run("index " + data.path()), 1, {"there are no files"});
  put(data / "a.jsonl", "{\"n\": 1}\nbad\n");
  check_error(run("index " + data.path()), 1, {"a.jsonl", "byte 9"});
  CHECK(run("index --json --skip-bad " + data.path()).json()["skipped"] == 1);
  check_error(run("index --update --skip-bad " + data.path()), 2, {"--update"});
  check_error(run("index " + (data / "a.jsonl")), 2, {"--out"});
  check_error(run("index --update --out " + (data / "none") + " " + data.path()), 1,
              {"no row index"});
  put(data / "b.csv", "x\n1\n");
  check_error(run("index " + data.path()), 1, {"different formats"});
}

TEST_CASE("files that are no dataset are streamed, and are the dataset that they convert to",
          "[cli]") {
  const folder data;
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += "{\"n\": " + std::to_string(i) + "}\n";
  put(data / "files/a.jsonl", lines);
  put(data / "files/b.jsonl", lines);
  const std::string from = data / "files", to = data / "mds";
  const json made =
      run("convert --cuts keep --shard-bytes 500 --compression zstd " + from + ' ' + to).json();
  CHECK(made["samples"] == 400);
  CHECK(made["shards"].get<int>() > 8);
  CHECK(run("verify " + to).status == 0);
  const auto batches = [&](const json& stream, const std::string& cache) {
    std::ofstream(data / "config.json") << json{
        {"streams", {stream}}, {"local", data / cache}, {"batch_size", 16}, {"shuffle", true}};
    auto out = run("stream --digest --config " + (data / "config.json")).lines();
    REQUIRE(out.size() == 26);
    out.pop_back();
    return out;
  };
  const json raw = {{"format", "jsonl"}, {"shard_bytes", 500}, {"columns", {"n=int"}}};
  CHECK(batches({{"remote", from}, {"raw", raw}}, "a") == batches({{"remote", to}}, "b"));
  CHECK(run("verify " + (data / "a")).out.find("all is well") != std::string::npos);
  CHECK(run("verify " + from)
            .out.find("2 objects, 2 shards, 400 samples: no faults; all rows can be read") !=
        std::string::npos);
  for (const auto& each : fs::recursive_directory_iterator(data / "a")) {
    if (each.path().extension() != ".mds") continue;
    // a byte of the last sample: the shard's form stays right, only its seal tells
    std::fstream file(each.path(), std::ios::in | std::ios::out);
    file.seekp(
        static_cast<std::streamoff>(fs::file_size(each.path()) - mdstream::detail::seal_bytes - 1));
    file << 'x';
    break;
  }
  check_error(run("verify " + (data / "a")), 1, {"1 fault"});
  check_error(run("convert " + from + ' ' + to), 1, {"already there"});
  CHECK(run("convert --replace " + from + ' ' + to).json()["shards"] == 1);

  std::ofstream(data / "config.json")
      << json{{"streams", {{{"remote", from}, {"raw", {{"formt", "jsonl"}}}}}}, {"batch_size", 16}};
  check_error(run("stream --config " + (data / "config.json")), 2, {"formt"});
}
