// `mdstream copy` between a server on loopback and a folder, beside programs that do the same. Each
// turn is a process of its own, so that processor time and memory are the kernel's figures of it.
//
// bench_transfer ROOT: files on disk go beneath ROOT, those in memory beneath /dev/shm. Peers are
// taken from the directory MDSTREAM_BENCH_TOOLS, those in Python from MDSTREAM_BENCH_PEERS. Uploads
// go to the S3 server that S3_ENDPOINT_URL and AWS_… name, and are left out where none is named.

#include "support/harness.hpp"
#include "support/peer.hpp"
#include "support/program.hpp"
#include "support/s3_bucket.hpp"
#include "tests/support/nginx.hpp"
#include "transfer_burst.hpp"
#include "transfer_far.hpp"
#include "transfer_files.hpp"
#include "transfer_stores.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using bench::at_once;
using bench::check;
using bench::contender;
using bench::download;
using bench::folder;
using bench::make_anew;
using bench::mib;
using bench::objects;
using bench::tool;
using bench::turn;
using bench::write_lines;

void bench_download(const folder& scratch, const fs::path& destination, const std::string& name,
                    std::size_t count, std::size_t size) {
  if (!bench::is_wanted(name)) return;
  const folder data(scratch / "data"), state(scratch / "nginx"), into(destination);
  const objects all(data, count, size);
  const support::nginx server(data.path(), state.path(), {.lines = "autoindex on;\n"});
  const std::string bucket = server.url() + "/bucket/";

  const std::string urls = scratch / "urls", config = scratch / "curl", cp = scratch / "s5cmd",
                    keys = scratch / "keys";
  write_lines(urls, all.names, [&](const std::string& key) { return bucket + key; });
  write_lines(keys, all.names, [&](const std::string& key) { return key; });
  write_lines(config, all.names, [&](const std::string& key) {
    return "url = " + bucket + key + "\noutput = " + into.path() + "/" + key;
  });
  write_lines(cp, all.names, [&](const std::string& key) {
    return "cp s3://bucket/" + key + ' ' + into.path() + "/" + key;
  });

  std::vector<contender> turns;
  const auto add = [&](const std::string& who, std::vector<std::string> words) {
    if (!words.front().empty()) turns.push_back(download(who, std::move(words), data, into, all));
  };
  add("mdstream", {BENCH_MDSTREAM, "copy", "--list", urls, into.path(), "--jobs", at_once});
  add("curl -Z", {"curl", "-sSfZ", "--no-progress-meter", "--parallel-max", at_once, "-K", config});
  add("s5cmd", {tool("s5cmd"), "--endpoint-url", server.url(), "--no-sign-request", "--numworkers",
                at_once, "run", cp});
  add("rclone",
      {tool("rclone"), "copy", "--config", "", "--http-url", bucket, "--http-no-head",
       "--files-from-raw", keys, "--no-traverse", "--transfers", at_once, ":http:", into.path()});
  for (contender& peer : bench::peers_of("transfer", name, urls + '\t' + into.path())) {
    turns.push_back(contender::measured(peer.who, [&, work = peer.take_turn] {
      into.empty();
      const turn taken = work();
      check(data / "bucket", into.path(), all, false);
      into.empty();
      return taken;
    }));
  }
  bench::run_case("transfer", name, "B/s", std::move(turns), count > 10'000 ? 3 : 5);
}

void bench_ranges(const folder& scratch, const std::string& name) {
  if (!bench::is_wanted(name)) return;
  const folder data(scratch / "data"), state(scratch / "nginx"), into(scratch / "into");
  const objects all(data, 1, std::size_t{2} << 30);
  const support::nginx server(data.path(), state.path());
  const std::string url = server.url() + "/bucket/" + all.names[0];

  std::vector<contender> turns;
  turns.push_back(
      download("mdstream", {BENCH_MDSTREAM, "copy", url, into / all.names[0]}, data, into, all));
  for (const std::size_t connections : {1, 2, 4, 8, 16}) {
    const std::string config = scratch / ("ranges-" + std::to_string(connections));
    std::ofstream file(config);
    for (std::size_t i = 0; i < connections; ++i) {
      const std::size_t one = all.bytes / connections;
      file << "url = " << url << "\noutput = " << into.path() << "/" << i << "\nrange = " << i * one
           << '-' << (i + 1) * one - 1 << (i + 1 < connections ? "\nnext\n" : "\n");
    }
    turns.push_back(contender::measured(
        "curl -Z, " + std::to_string(connections) + " connections", [=, &into, &all] {
          into.empty();
          const bench::program_cost cost =
              bench::run_program({"curl", "-sSfZ", "--no-progress-meter", "--parallel-immediate",
                                  "--parallel-max", at_once, "-K", config});
          into.empty();
          return turn{static_cast<double>(all.bytes), cost.seconds, cost.cpu_s, cost.resident_mb};
        }));
  }
  bench::run_case("transfer", name, "B/s", std::move(turns), 3);
}

void bench_upload(const folder& scratch, const std::string& name, std::size_t count,
                  std::size_t size) {
  const char* const endpoint = std::getenv("S3_ENDPOINT_URL");
  if (!bench::is_wanted(name) || endpoint == nullptr) return;
  const folder data(scratch / "data");
  const objects all(data, count, size);
  const std::string from = data / "bucket", bucket = "bench-upload", to = "s3://" + bucket + '/';

  std::vector<contender> turns;
  const auto add = [&](const std::string& who, std::vector<std::string> words) {
    if (words.front().empty()) return;
    turns.push_back(contender::measured(who, [words = std::move(words), &all] {
      const bench::program_cost cost = bench::run_program(words);
      return turn{static_cast<double>(all.total()), cost.seconds, cost.cpu_s, cost.resident_mb};
    }));
  };
  add("mdstream", {BENCH_MDSTREAM, "copy", from, to + "mdstream", "--jobs", at_once});
  add("s5cmd", {tool("s5cmd"), "--endpoint-url", endpoint, "--numworkers", at_once, "cp",
                from + "/", to + "s5cmd/"});
  add("rclone", {tool("rclone"), "copy", "--config", "", "--s3-provider", "Other", "--s3-endpoint",
                 endpoint, "--s3-env-auth", "--s3-force-path-style", "--s3-no-check-bucket",
                 "--transfers", at_once, from, ":s3:" + bucket + "/rclone"});
  turns = bench::with(std::move(turns), bench::peers_of("transfer", name, from + '\t' + to));
  for (contender& each : turns) {
    each.take_turn = [bucket, work = std::move(each.take_turn)] {
      make_anew(bucket);
      return work();
    };
  }
  bench::run_case("transfer", name, "B/s", std::move(turns), 3);
}

}  // namespace

int main(int argc, char** argv) {
  setenv("AWS_REGION", "us-east-1", 0);  // or s5cmd asks for it
  const fs::path root = argc > 1 ? argv[1] : "build/bench-data";
  const std::string unique = "mdstream-bench-" + std::to_string(getpid());
  const folder scratch(fs::path("/dev/shm") / unique);
  const folder disk(fs::absolute(root) / "transfer");
  for (const auto& [where, kind] : {std::pair{fs::path(scratch / "into"), "memory"},
                                    std::pair{fs::path(disk / "into"), "disk"}}) {
    const std::string to = std::string(", to ") + kind;
    bench_download(scratch, where, "download, 64 x 32 MiB" + to, 64, 32 * mib);
    bench_download(scratch, where, "download, 2000 x 1 MiB" + to, 2000, mib);
    bench_download(scratch, where, "download, 20000 x 64 KiB" + to, 20000, mib / 16);
  }
  bench_ranges(scratch, "download, 2 GiB in ranges");
  bench::run_stores(scratch / "stores");
  bench::run_far(scratch / "far", tool("s5cmd"));
  bench::run_burst(scratch / "burst");
  bench_upload(scratch, "upload, 64 x 32 MiB", 64, 32 * mib);
  bench_upload(scratch, "upload, 256 x 1 MiB", 256, mib);
}
