// mdstream checkpoint: what it prints of a run, and what it changes.

#include <mdstream/checkpoint/detail/safetensors.hpp>
#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/store/local.hpp>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "checkpoint/training.hpp"
#include "cli/running.hpp"

namespace checkpoint_command_test {

namespace mds = mdstream;
namespace fs = std::filesystem;
using cli_test::answer;
using cli_test::check_error;
using cli_test::folder;
using cli_test::run;
using training::cut;
using training::model;

/// Steps 10, 20 and 30.
class saved_run {
 public:
  saved_run() {
    model mine(0, 1, cut::rows);
    mds::checkpoint_saver saver({.run = mds::store::local(path())});
    for (const std::uint64_t step : {10, 20, 30}) {
      mine.set(step);
      saver.save(step, mine.list(), {.loader_state = "{}", .metadata = {{"loss", "2.5"}}});
      saver.wait_snapshot();
    }
    saver.finish();
  }
  [[nodiscard]] std::string path() const { return files_ / "run"; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return files_ / name; }

 private:
  folder files_;
};

std::vector<std::uint64_t> steps_of(const std::string& path) {
  std::vector<std::uint64_t> out;
  for (const auto& each : run("checkpoint list " + path).lines())
    out.push_back(each.at("step").get<std::uint64_t>());
  return out;
}

}  // namespace checkpoint_command_test

using namespace checkpoint_command_test;

TEST_CASE("checkpoint list and show tell what a run has", "[cli]") {
  const saved_run saved;
  const answer listed = run("checkpoint list " + saved.path());
  REQUIRE(listed.lines().size() == 3);
  const auto newest = listed.lines().back();
  CHECK(newest.at("step") == 30);
  CHECK(newest.at("parent") == listed.lines().at(1).at("name"));
  CHECK(listed.lines().front().at("parent").is_null());
  CHECK(newest.at("ranks") == 1);
  CHECK(newest.at("on_line") == true);
  CHECK(newest.at("pinned") == false);
  CHECK(newest.at("damaged") == false);
  CHECK(newest.at("metadata").at("loss") == "2.5");
  const auto shown = run("checkpoint show " + saved.path()).json();
  CHECK(shown.at("name") == newest.at("name"));
  CHECK(shown.at("loader_state") == "{}");
  CHECK(shown.at("tensors").at(1) ==
        nlohmann::json({{"name", "h.0.w"}, {"type", "F32"}, {"shape", {96, 133}}}));
  CHECK(run("checkpoint show --name 20 " + saved.path()).json().at("step") == 20);
  check_error(run("checkpoint show --name 25 " + saved.path()), 1, {"no checkpoint \"25\""});
  check_error(run("checkpoint show " + (saved / "nothing")), 1, {"no checkpoint"});
  CHECK(run("checkpoint list " + (saved / "nothing")).out.empty());
  check_error(run("checkpoint"), 2, {"subcommand"});
  check_error(run("checkpoint clean --last -1 " + saved.path()), 2, {"-1"});
}

TEST_CASE("checkpoint verify names what is damaged", "[cli]") {
  const saved_run saved;
  const answer whole = run("checkpoint verify --all " + saved.path());
  CHECK(whole.status == 0);
  REQUIRE(whole.lines().size() == 3);
  for (const auto& each : whole.lines()) CHECK(each.at("damaged").empty());
  for (const auto& each : fs::recursive_directory_iterator(saved.path() + "/data")) {
    if (each.path().native().find("20/r0-0.safetensors") == std::string::npos) continue;
    std::fstream file(each.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(20'000);
    file.put('!');
  }
  const answer found = run("checkpoint verify --all --jobs 2 " + saved.path());
  check_error(found, 1, {"1 fault", saved.path()});
  CHECK(found.lines().at(0).at("damaged").empty());
  const auto damage = found.lines().at(1).at("damaged").at(0);
  CHECK(damage.at("file") == "r0-0.safetensors");
  CHECK(damage.at("what").get<std::string>().find("tensor") != std::string::npos);
  CHECK(run("checkpoint verify " + saved.path()).status == 0);  // the newest
}

TEST_CASE("checkpoint reads what one of two places lacks from the other", "[cli]") {
  const saved_run saved;
  const std::string other = saved / "other";
  fs::copy(saved.path(), other, fs::copy_options::recursive);
  const auto lose = [](const std::string& root, const std::string& part) {
    std::vector<fs::path> gone;
    for (const auto& each : fs::recursive_directory_iterator(root + "/data"))
      if (each.is_regular_file() && each.path().native().find(part) != std::string::npos)
        gone.push_back(each.path());
    REQUIRE(!gone.empty());
    for (const fs::path& each : gone) fs::remove(each);
  };
  lose(saved.path(), "30/layout.json");
  lose(other, "20/");
  check_error(run("checkpoint verify --all " + saved.path()), 1, {"1 fault"});
  const answer whole = run("checkpoint verify --all --mirror " + other + ' ' + saved.path());
  INFO(whole.err);
  CHECK(whole.status == 0);
  CHECK(whole.lines().size() == 3);
  CHECK(run("checkpoint show --mirror " + other + ' ' + saved.path()).json().at("step") == 30);
}

TEST_CASE("checkpoint clean keeps what the rules and pins say", "[cli]") {
  const saved_run saved;
  const auto pinned = run("checkpoint pin --name 10 --who paper " + saved.path()).json();
  CHECK(pinned.at("pinned") == true);
  check_error(run("checkpoint pin " + saved.path()), 2, {"--name"});
  const std::string clean = "checkpoint clean --last 1 --grace 0 ";
  const auto planned = run(clean + "--dry-run " + saved.path()).json();
  CHECK(planned.at("removed") == false);
  REQUIRE(planned.at("checkpoints").size() == 1);
  CHECK(steps_of(saved.path()) == std::vector<std::uint64_t>{10, 20, 30});
  const auto done = run(clean + saved.path()).json();
  CHECK(done.at("checkpoints") == planned.at("checkpoints"));
  CHECK(done.at("removed") == true);
  CHECK(steps_of(saved.path()) == std::vector<std::uint64_t>{10, 30});
  std::size_t files = 0;
  for (const auto& each : mds::store::local(saved.path()).list("data/"))
    files += each.key.ends_with(".safetensors") ? 1U : 0U;
  CHECK(files == 2);
  CHECK(run("checkpoint pin --remove --name 10 --who paper " + saved.path()).status == 0);
  CHECK(run(clean + saved.path()).json().at("checkpoints").size() == 1);
  CHECK(steps_of(saved.path()) == std::vector<std::uint64_t>{30});
  CHECK(run("checkpoint verify " + saved.path()).status == 0);
}

TEST_CASE("checkpoint import makes the first checkpoint of a run, cast and renamed", "[cli]") {
  const saved_run saved;
  run("checkpoint export --rename h.=layers. --out " + (saved / "plain") + ' ' + saved.path());
  const std::string import = "checkpoint import --rename layers.0.=first. --rename layers.=h. ";
  const auto imported =
      run(import + "--cast F64 --step 3 " + (saved / "plain") + ' ' + (saved / "new"));
  INFO(imported.err);
  CHECK(imported.json().at("tensors") == 8);
  const auto shown = run("checkpoint show " + (saved / "new")).json();
  CHECK(shown.at("name") == imported.json().at("name"));
  CHECK(shown.at("step") == 3);
  CHECK(shown.at("loader_state") == "");
  std::vector<std::string> names, types;
  for (const auto& each : shown.at("tensors")) {
    names.push_back(each.at("name"));
    types.push_back(each.at("type"));
  }
  CHECK(names == std::vector<std::string>{"few", "first.w", "h.1.w", "h.2.cube", "long", "none",
                                          "scalar", "wide"});
  CHECK(types == std::vector<std::string>{"F64", "F64", "F64", "U8", "I64", "F64", "U64", "F64"});
  CHECK(run("checkpoint verify " + (saved / "new")).status == 0);
  // One file by its name.
  CHECK(run("checkpoint import " + (saved / "plain/model.safetensors") + ' ' + (saved / "one"))
            .json()
            .at("tensors") == 8);
  check_error(run(import + (saved / "plain") + ' ' + (saved / "new")), 1, {"has checkpoints"});
  check_error(run("checkpoint import " + (saved / "none") + ' ' + (saved / "x")), 1,
              {"*.safetensors"});
  check_error(run("checkpoint import --cast F33 " + (saved / "plain") + ' ' + (saved / "x")), 2,
              {"--cast", "F33"});
  check_error(run("checkpoint import --cast I8 " + (saved / "plain") + ' ' + (saved / "x")), 1,
              {"not to I8"});
  check_error(run("checkpoint import --rename h " + (saved / "plain") + ' ' + (saved / "x")), 2,
              {"FROM=TO"});
  check_error(run("checkpoint import --rename few=long " + (saved / "plain") + ' ' + (saved / "x")),
              1, {"two tensors", "\"long\""});
}

TEST_CASE("checkpoint export writes plain files, each tensor whole", "[cli]") {
  const saved_run saved;
  const auto one = run("checkpoint export --out " + (saved / "one") + ' ' + saved.path()).json();
  CHECK(one.at("files") == nlohmann::json({"model.safetensors"}));
  check_error(run("checkpoint export --out " + (saved / "one") + ' ' + saved.path()), 1,
              {"there is a model already"});
  const auto many =
      run("checkpoint export --name 20 --file-mb 1 --out " + (saved / "many") + ' ' + saved.path())
          .json();
  REQUIRE(many.at("files").size() == 3);
  CHECK(many.at("files").at(2) == "model.safetensors.index.json");
  // All bytes, by the format alone.
  model wanted(0, 1, cut::rows);
  wanted.set(20);
  const std::string index = cli_test::text_of(saved / "many/model.safetensors.index.json");
  const auto files = nlohmann::json::parse(index).at("weight_map");
  CHECK(files.size() == wanted.list().size());
  for (const auto& each : wanted.list().listed()) {
    INFO(each.name);
    const std::string file =
        cli_test::text_of(saved / "many/" + files.at(each.name).get<std::string>());
    const auto head = mds::detail::read_safetensors(
        mds::as_bytes(file).first(static_cast<std::size_t>(
            mds::detail::safetensors_head_bytes(mds::as_bytes(file), file.size()))),
        file.size());
    for (const auto& entry : head.tensors) {
      if (entry.name != each.name) continue;
      CHECK(entry.type == each.type);
      CHECK(entry.shape == each.shape);
      CHECK(std::memcmp(file.data() + head.data_at + entry.begin, each.data,
                        static_cast<std::size_t>(entry.end - entry.begin)) == 0);
    }
  }
}
