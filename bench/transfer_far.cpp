// Downloads from a server 100 ms away on a line that loses one packet of a hundred each way, where
// a connection carries little and many carry more: what a limit on requests that adapts itself is
// for.

#include "transfer_far.hpp"

#include "support/far_line.hpp"
#include "support/harness.hpp"
#include "support/program.hpp"
#include "tests/support/nginx.hpp"
#include "transfer_files.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace {

void run_case_of(const std::string& scratch, const std::string& s5cmd, const far_line& line,
                 const std::string& name, std::size_t count, std::size_t size) {
  if (!is_wanted(name)) return;
  const std::string most = "64";
  const folder all(scratch), data(all / "data"), state(all / "nginx"), into(all / "into");
  const objects expected(data, count, size);
  std::unique_ptr<const support::nginx> server;
  {
    const far_line::visit there(line, far_line::server);
    server = std::make_unique<const support::nginx>(
        data.path(), state.path(),
        support::nginx_options{.lines = std::string("listen ") +
                                        far_line::addresses[far_line::server] + ":80;\n"});
  }
  const std::string url = std::string("http://") + far_line::addresses[far_line::server];
  const std::string bucket = url + "/bucket/";
  const std::string urls = all / "urls", config = all / "curl", cp = all / "s5cmd";
  write_lines(urls, expected.names, [&](const std::string& key) { return bucket + key; });
  write_lines(config, expected.names, [&](const std::string& key) {
    return "url = " + bucket + key + "\noutput = " + into.path() + "/" + key;
  });
  write_lines(cp, expected.names, [&](const std::string& key) {
    return "cp s3://bucket/" + key + ' ' + into.path() + "/" + key;
  });
  std::vector<contender> turns;
  const auto add = [&](const std::string& who, std::vector<std::string> words) {
    if (words.front().empty()) return;
    contender each = download(who, std::move(words), data, into, expected);
    each.take_turn = [&line, work = std::move(each.take_turn)] {
      const far_line::visit here(line, far_line::client);
      return work();
    };
    turns.push_back(std::move(each));
  };
  add("mdstream", {BENCH_MDSTREAM, "copy", "--list", urls, into.path(), "--jobs", most});
  add("curl -Z", {"curl", "-sSfZ", "--no-progress-meter", "--parallel-immediate", "--parallel-max",
                  most, "-K", config});
  add("s5cmd",
      {s5cmd, "--endpoint-url", url, "--no-sign-request", "--numworkers", most, "run", cp});
  run_case("transfer", name, "B/s", std::move(turns), 5);
}

}  // namespace

void run_far(const std::string& scratch, const std::string& s5cmd) {
  const std::string small = "100 ms and 1 % loss, 256 x 256 KiB";
  const std::string large = "100 ms and 1 % loss, 16 x 8 MiB";
  if (!is_wanted(small) && !is_wanted(large)) return;
  const far_line line(std::chrono::milliseconds(100), 1);
  run_case_of(scratch, s5cmd, line, small, 256, mib / 4);
  run_case_of(scratch, s5cmd, line, large, 16, 8 * mib);
}

}  // namespace bench
