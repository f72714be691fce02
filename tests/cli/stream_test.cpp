// mdstream stream.

#include "cli/running.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

using namespace cli_test;

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

TEST_CASE("stream --explain says what would be streamed, and fetches no shard", "[cli]") {
  const folder files;
  write_rows(files / "a", 0, 60);
  write_rows(files / "b", 100, 40);
  const json config = {
      {"streams", {{{"remote", files / "a"}, {"repeat", 2}}, {{"remote", files / "b"}}}},
      {"local", files / "cache"},
      {"batch_size", 8},
      {"shuffle", true},
      {"cache_limit", "1mb"},
      {"threads", 3}};
  std::ofstream(files / "config.json") << config;
  const std::string what = "stream --config " + (files / "config.json");
  const std::string two_ranks = "WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 RANK=1 LOCAL_RANK=1 ";

  const json explained = run(what + " --explain", two_ranks).lines().at(0);
  CHECK(explained["streams"][0]["name"] == files / "a");
  CHECK(explained["streams"][0]["samples"] == 60);
  CHECK(explained["streams"][0]["choose"] == 120);
  CHECK(explained["streams"][0]["repeat"] == 2.0);
  CHECK(explained["streams"][1]["proportion"] == 0.25);
  CHECK(explained["epoch"] == json{{"number", 0},
                                   {"samples", 160},
                                   {"batches", 10},
                                   {"batches_left", 10},
                                   {"global_batch_size", 16}});
  CHECK(explained["world"] ==
        json{{"nodes", 1}, {"ranks_per_node", 2}, {"rank", 1}, {"batch_size", 8}});
  CHECK(explained["order"]["shuffle"] == "py1e");
  CHECK(explained["order"]["shuffle_block_size"] == 4'000'000);
  CHECK(explained["cache"]["limit"] == 1 << 20);
  CHECK(explained["cache"]["directory"] == files / "cache");
  CHECK(explained["threads"] == 3);
  // Shuffled, the one node reads all shards of both streams.
  std::uint64_t shards = 0;
  for (const auto& stream : explained["streams"]) shards += stream["shards"].get<std::uint64_t>();
  CHECK(explained["epoch_of_each_node"] ==
        json::array({{{"shards", shards}, {"bytes", explained["cache"]["bytes_of_all_shards"]}}}));
  CHECK_FALSE(explained["streams"][0].contains("credentials"));  // a directory asks for none
  std::uint64_t bytes = 0;
  for (const auto& stream : explained["streams"]) {
    const std::string directory = stream["directory"];
    CHECK(directory.starts_with(files / "cache"));
    CHECK_FALSE(std::filesystem::exists(directory + "/shard.00000.mds"));
    bytes += stream["bytes"].get<std::uint64_t>();
  }
  CHECK(explained["cache"]["bytes_of_all_shards"] == bytes);

  run(what + " --batches 4 --save-state " + (files / "state"), two_ranks);
  CHECK(run(what + " --explain --state " + (files / "state"), two_ranks)
            .lines()
            .at(0)["epoch"]["batches_left"] == 6);
  CHECK(run(what + " --explain --batches 3").status != 0);
}

namespace cli_test {

// The batches that the command line printed until it was killed, which it is after so many lines at
// the least.
inline std::vector<json> killed(const std::string& arguments, std::size_t after) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::fcntl(ends[1], F_SETPIPE_SZ, 4096);  // so far it can be ahead of who reads
  const std::string command = "exec " MDSTREAM_CLI " " + arguments;
  const pid_t process = ::fork();
  if (process == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string out;
  char piece[64];
  for (ssize_t got = 1; got > 0;) {
    got = ::read(ends[0], piece, sizeof piece);
    if (got > 0) out.append(piece, static_cast<std::size_t>(got));
    if (static_cast<std::size_t>(std::ranges::count(out, '\n')) >= after) ::kill(process, SIGKILL);
  }
  ::close(ends[0]);
  ::waitpid(process, nullptr, 0);
  out.resize(out.rfind('\n') + 1);
  auto lines = answer{0, out, ""}.lines();
  std::erase_if(lines, [](const json& line) { return line.contains("summary"); });
  return lines;
}

}  // namespace cli_test

TEST_CASE("errors name a bad configuration and a cache that cannot be written", "[cli]") {
  const folder files;
  write_rows(files / "a", 0, 5);
  check_error(run("stream --config " + files.path()), 1, {"it is a directory", files.path()});
  check_error(run("stream --config " + (files / "absent")), 1, {"cannot be read", "absent"});
  const auto run_with = [&](const json& config) {
    std::ofstream(files / "config.json") << config;
    return run("stream --config " + (files / "config.json"));
  };
  for (const char* count : {"batch_size", "epochs", "shuffle_seed", "cache_limit"})
    for (const json& number : {json(-1), json(4.7)})
      check_error(run_with({{"remote", files / "a"}, {count, number}}), 2,
                  {"option \"" + std::string(count) + "\" cannot be " + number.dump()});
  check_error(run_with({{"remote", files / "a"}, {"batch_size", "many"}}), 2,
              {"option \"batch_size\" cannot be \"many\""});
  // The process file system takes no directories, whoever asks.
  check_error(run_with({{"remote", files / "a"}, {"local", "/proc/cache"}, {"batch_size", 1}}), 1,
              {"the cache directory cannot be written: choose another local", "/proc/cache"});
}

TEST_CASE("a killed stream goes on from its saved state, on each rank, to the end of its epochs",
          "[cli]") {
  const folder files;
  write_rows(files / "a", 0, 800);
  const json config = {{"remote", files / "a"},
                       {"local", files / "cache"},
                       {"batch_size", 4},
                       {"shuffle", true},
                       {"epochs", 2}};
  std::ofstream(files / "config.json") << config;
  const std::string what = "stream --config " + (files / "config.json");
  for (const std::string rank : {"0", "1"}) {
    ::setenv("WORLD_SIZE", "2", 1);
    ::setenv("LOCAL_WORLD_SIZE", "2", 1);
    ::setenv("RANK", rank.c_str(), 1);
    auto whole = run(what).lines();
    REQUIRE(whole.size() == 2 * 100 + 1);
    whole.pop_back();
    const std::string state = files / ("state" + rank);
    for (const std::size_t lines : {5U, 110U}) {
      INFO("rank " << rank << ", killed after " << lines << " lines");
      const auto before = killed(what + " --save-state " + state, lines);
      auto after = run(what + " --state " + state).lines();
      REQUIRE(after.size() >= 1);
      after.pop_back();
      // A batch whose state was not saved yet comes once more.
      REQUIRE(before.size() + after.size() >= whole.size());
      REQUIRE(before.size() + after.size() <= whole.size() + 1);
      CHECK(std::equal(before.begin(), before.end(), whole.begin()));
      CHECK(std::equal(after.rbegin(), after.rend(), whole.rbegin()));
    }
  }
  for (const char* const name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "RANK"}) ::unsetenv(name);
}

TEST_CASE("warm fetches what the next batches of some ranks need, for any world", "[cli]") {
  const folder files;
  write_rows(files / "a", 0, 800);
  const auto config = [&](const std::string& cache) {
    const std::string path = files / (cache + ".json");
    std::ofstream(path) << json{{"remote", files / "a"},     {"local", files / cache},
                                {"global_batch_size", 8},    {"shuffle", true},
                                {"shuffle_block_size", 100}, {"predownload", 8}};
    return " --config " + path;
  };
  const auto fetched = [](const answer& got) {
    INFO(got.err);
    REQUIRE(got.status == 0);
    return got.lines().back()["summary"]["bytes_fetched"].get<std::uint64_t>();
  };
  const std::string state = " --state " + (files / "state");
  REQUIRE(run("stream --batches 10 --save-state " + (files / "state") + config("before")).status ==
          0);

  // Two nodes go on, of which the second one is filled before it joins.
  const answer warmed = run("warm --world 2,1 --ranks 1 --batches 20" + config("spare") + state);
  CHECK(fetched(warmed) > 0);
  CHECK(warmed.json()["summary"]["ranks"] == 1);
  CHECK(warmed.json()["summary"]["batches"] == 20);

  // One batch needs less than all ranks do to the end of the epoch.
  const std::string all = "warm --world 2,2 --ranks 0,1-3 --batches 90";
  CHECK(fetched(run("warm --world 2,2 --ranks 0 --batches 1" + config("little") + state)) <
        fetched(run(all + config("all") + state)));

  for (const std::string ranks : {"2", "0,", "1-2", "1-0", "x", "-1"})
    check_error(run("warm --world 2,1 --ranks=" + ranks + config("none")), 2,
                {"--ranks takes ranks below 2", '"' + ranks + '"'});
  check_error(run("warm --world 0,1 --ranks 0" + config("none")), 1, {"at least one node"});
  check_error(run("warm --ranks 0" + config("none") + " --state " + (files / "absent")), 1,
              {"cannot be read"});

  // The batches of the rank that joins are all there: it has no remote to fetch from.
  const std::string joins = "RANK=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=1 ";
  const auto from_remote = run("stream --batches 20" + config("cold") + state, joins).lines();
  for (const auto& each : fs::directory_iterator(files / "a"))
    if (each.path().extension() == ".mds") fs::remove(each.path());
  const auto from_cache = run("stream --batches 20" + config("spare") + state, joins).lines();
  REQUIRE(from_remote.size() == 21);
  REQUIRE(from_cache.size() == 21);
  for (std::size_t i = 0; i < 20; ++i) CHECK(from_cache[i] == from_remote[i]);
}

TEST_CASE("stream streams every dataset that the reference wrote", "[cli]") {
  const folder files;
  std::size_t streamed = 0, refused = 0;
  for (const auto& entry : fs::directory_iterator(golden + "mds")) {
    const std::string data = (entry.path() / "data").string();
    if (!fs::exists(data + "/index.json")) continue;  // it has splits
    INFO(data);
    const auto samples = json::parse(text_of((entry.path() / "samples.json").string())).size();
    std::ofstream(files / "config.json")
        << json{{"remote", data},
                {"local", files / ("cache/" + entry.path().filename().string())},
                {"batch_size", 8},
                {"num_canonical_nodes", 1},
                {"allow_unsafe_types", true}};
    const auto got = run("stream --digest --config " + (files / "config.json"));
    if (samples == 0) {
      check_error(got, 1, {"the dataset has no samples"});
    } else if (got.status != 0) {  // rows of text with integers of more than 64 bits
      check_error(got, 1, {"is not an integer of int64", "column \"n\""});
      ++refused;
    } else {
      CHECK(got.err.empty());
      REQUIRE(!got.lines().empty());
      CHECK(got.lines().back()["summary"]["samples"] == samples);
      ++streamed;
    }
  }
  CHECK(streamed > 20);
  CHECK(refused < 9);
}
