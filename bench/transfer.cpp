// `mdstream copy` between a server on loopback and a folder, beside programs that do the same. Each
// turn is a process of its own, so that processor time and memory are the kernel's figures of it.
//
// bench_transfer ROOT: files on disk go beneath ROOT, those in memory beneath /dev/shm. Peers are
// taken from the directory MDSTREAM_BENCH_TOOLS, those in Python from MDSTREAM_BENCH_PEERS. Uploads
// go to the S3 server that S3_ENDPOINT_URL and AWS_… name, and are left out where none is named.

#include "support/harness.hpp"
#include "support/peer.hpp"
#include "support/program.hpp"
#include "tests/support/nginx.hpp"
#include "transfer_burst.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using bench::contender;
using bench::turn;

constexpr std::size_t mib = std::size_t{1} << 20;
const std::string at_once = "16";

/// A directory that goes with this object.
class folder {
 public:
  explicit folder(fs::path where) : path_(std::move(where)) { empty(); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { fs::remove_all(path_); }

  void empty() const {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  fs::path path_;
};

/// Objects of one size with different bytes, as files of `bucket/`.
struct objects {
  objects(const folder& where, std::size_t count, std::size_t size) : bytes(size) {
    std::vector<std::uint64_t> words(size / sizeof(std::uint64_t));
    std::mt19937_64 random(1);
    for (std::uint64_t& word : words) word = random();
    fs::create_directories(where / "bucket");
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t at = i % 64; at < words.size(); at += 64) words[at] += i;
      names.push_back("object-" + std::to_string(i));
      std::ofstream(where / ("bucket/" + names.back()), std::ios::binary)
          .write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(size));
    }
  }
  [[nodiscard]] std::uint64_t total() const { return bytes * names.size(); }

  std::vector<std::string> names{};
  std::size_t bytes;
};

void write_lines(const std::string& path, const std::vector<std::string>& names,
                 const std::function<std::string(const std::string&)>& line) {
  std::ofstream out(path);
  for (const std::string& name : names) out << line(name) << '\n';
}

bool same_bytes(const fs::path& a, const fs::path& b) {
  std::ifstream left(a, std::ios::binary), right(b, std::ios::binary);
  std::vector<char> x(mib), y(mib);
  while (left && right) {
    left.read(x.data(), static_cast<std::streamsize>(x.size()));
    right.read(y.data(), static_cast<std::streamsize>(y.size()));
    if (left.gcount() != right.gcount() ||
        !std::equal(x.begin(), x.begin() + left.gcount(), y.begin())) {
      return false;
    }
  }
  return !left && !right;
}

/// The files that have the names of objects, wherever a program has put them, are those objects:
/// all bytes of them the first time, their number and sizes later.
void check(const fs::path& from, const fs::path& into, const objects& expected, bool every_byte) {
  std::size_t found = 0;
  for (const auto& each : fs::recursive_directory_iterator(into)) {
    if (!each.is_regular_file() || each.path().filename().string().starts_with(".")) continue;
    if (each.file_size() != expected.bytes ||
        (every_byte && !same_bytes(each.path(), from / each.path().filename()))) {
      throw std::runtime_error("a copy has other bytes: " + each.path().string());
    }
    ++found;
  }
  if (found != expected.names.size()) throw std::runtime_error("objects are missing in a copy");
}

/// A program that fills an empty folder with the objects.
contender download(const std::string& who, std::vector<std::string> words, const folder& from,
                   const folder& into, const objects& expected) {
  auto first = std::make_shared<bool>(true);
  return contender::measured(who, [=, &from, &into, &expected] {
    into.empty();
    const bench::program_cost cost = bench::run_program(words);
    check(from / "bucket", into.path(), expected, std::exchange(*first, false));
    into.empty();
    return turn{static_cast<double>(expected.total()), cost.seconds, cost.cpu_s, cost.resident_mb};
  });
}

/// A program of MDSTREAM_BENCH_TOOLS; empty where there is none.
std::string tool(const std::string& name) {
  const char* const directory = std::getenv("MDSTREAM_BENCH_TOOLS");
  const std::string path = std::string(directory == nullptr ? "" : directory) + '/' + name;
  return directory != nullptr && fs::exists(path) ? path : "";
}

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
  add("curl -Z", {"curl", "-sSfZ", "--parallel-max", at_once, "-K", config});
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
  bench::run_case("transfer", name, "B/s", std::move(turns), 5);
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
          const bench::program_cost cost = bench::run_program(
              {"curl", "-sSfZ", "--parallel-immediate", "--parallel-max", at_once, "-K", config});
          into.empty();
          return turn{static_cast<double>(all.bytes), cost.seconds, cost.cpu_s, cost.resident_mb};
        }));
  }
  bench::run_case("transfer", name, "B/s", std::move(turns), 5);
}

/// Uploads with signatures. The server keeps what every turn wrote, so that turns are few.
void bench_upload(const folder& scratch, const std::string& name, std::size_t count,
                  std::size_t size) {
  const char* const endpoint = std::getenv("S3_ENDPOINT_URL");
  if (!bench::is_wanted(name) || endpoint == nullptr) return;
  const folder data(scratch / "data");
  const objects all(data, count, size);
  const std::string from = data / "bucket";

  std::vector<contender> turns;
  const auto add = [&](const std::string& who, std::vector<std::string> words) {
    if (words.front().empty()) return;
    turns.push_back(contender::measured(who, [words = std::move(words), &all] {
      const bench::program_cost cost = bench::run_program(words);
      return turn{static_cast<double>(all.total()), cost.seconds, cost.cpu_s, cost.resident_mb};
    }));
  };
  static int turn_number = 0;
  const std::string to = "s3://test/" + std::to_string(++turn_number) + '/';
  turns.push_back(contender::measured("mdstream", [&all, from, to] {
    // What is there with its size would be left: another place for each turn.
    static int place = 0;
    const bench::program_cost cost =
        bench::run_program({BENCH_MDSTREAM, "copy", from,
                            to + "mdstream-" + std::to_string(++place), "--jobs", at_once});
    return turn{static_cast<double>(all.total()), cost.seconds, cost.cpu_s, cost.resident_mb};
  }));
  add("s5cmd", {tool("s5cmd"), "--endpoint-url", endpoint, "--numworkers", at_once, "cp",
                from + "/", to + "s5cmd/"});
  add("rclone", {tool("rclone"), "copy", "--config", "", "--s3-provider", "Other", "--s3-endpoint",
                 endpoint, "--s3-env-auth", "--s3-force-path-style", "--s3-no-check-bucket",
                 "--transfers", at_once, "--ignore-times", from, ":s3:" + to.substr(5) + "rclone"});
  bench::run_case(
      "transfer", name, "B/s",
      bench::with(std::move(turns), bench::peers_of("transfer", name, from + '\t' + to)), 3);
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
  bench::run_burst(scratch / "burst");
  bench_upload(scratch, "upload, 16 x 32 MiB", 16, 32 * mib);
  bench_upload(scratch, "upload, 256 x 1 MiB", 256, mib);
}
