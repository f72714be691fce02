// The row index of files in an S3.

#include <optional>
#include <string>
#include <vector>

#include "cli/copying.hpp"
#include "s3/fake_s3.hpp"
#include "support/catch.hpp"

namespace index_s3_test {

using namespace copying;

TEST_CASE("an index whose first read fails is read again, and once where none fails", "[cli]") {
  fake_s3::server fake;
  fake.put("data/a.jsonl", "{\"n\": 1}\n{\"n\": 2}\n");
  const std::string url = fake.s3_url("data");
  const auto run = [&](const std::string& command, std::vector<std::string> words) {
    const outcome got = process(environment(fake), words, -1, command).wait();
    INFO(got.err);
    CHECK(got.status == 0);
    return got.out;
  };
  run("index", {url});
  int reads = 0, failing = 0;
  fake.instead = [&](const fake_s3::question& asked) -> std::optional<fake_s3::answer> {
    if (asked.raw.method != "GET" || asked.key != "data/.mdstream/rows.jsonl") return std::nullopt;
    if (++reads > failing) return std::nullopt;
    return fake_s3::refusal(503, "SlowDown");
  };
  const scratch to;
  for (failing = 0; failing <= 1; ++failing) {
    const auto reads_of = [&](const std::string& command, std::vector<std::string> words) {
      reads = 0;
      const std::string out = run(command, std::move(words));
      CHECK(reads == failing + 1);
      return out;
    };
    CHECK(reads_of("cat", {url}) == "{\"n\":1}\n{\"n\":2}\n");
    CHECK(nlohmann::json::parse(reads_of("inspect", {"--json", url}))["samples"] == 2);
    CHECK(nlohmann::json::parse(
              reads_of("index", {"--json", "--update", url}))["scanned_for_update"] == 0);
    CHECK(nlohmann::json::parse(reads_of(
              "index", {"--json", "--update", url, "--out", url + "/.mdstream"}))["samples"] == 2);
    reads_of("convert", {url, to / std::to_string(failing)});
  }
}

TEST_CASE("an index whose first write fails is written again", "[cli]") {
  fake_s3::server fake;
  fake.put("data/a.jsonl", "{\"n\": 1}\n{\"n\": 2}\n");
  int writes = 0;
  fake.instead = [&](const fake_s3::question& asked) -> std::optional<fake_s3::answer> {
    if (asked.raw.method != "PUT" || asked.key != "data/.mdstream/rows.jsonl") return std::nullopt;
    if (++writes > 1) return std::nullopt;
    return fake_s3::refusal(503, "SlowDown");
  };
  const outcome got = process(environment(fake), {fake.s3_url("data")}, -1, "index").wait();
  INFO(got.err);
  CHECK(got.status == 0);
  CHECK(writes == 2);
  CHECK(fake.objects().count("data/.mdstream/rows.jsonl") == 1);
}

}  // namespace index_s3_test
