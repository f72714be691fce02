// Files of Databricks' file system, whose service loses answers, and is refused what others have
// done meanwhile.

#include <mdstream/store/dbfs.hpp>

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/store/operations.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/conformance.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/scripted_server.hpp"

namespace clouds_dbfs_files_test {

namespace mds = mdstream;
using mds::errc;
using nlohmann::json;
using support::expect_error;
using connection = support::scripted_server::connection;

constexpr std::size_t block = 1 << 20;

/// The service, with its files in memory. `wrong` sees each call first, and says whether it has
/// answered it.
class workspace {
 public:
  using fault =
      std::function<bool(workspace&, const std::string& action, const json& said, connection& to)>;

  explicit workspace(fault wrong = {}) : wrong_(std::move(wrong)) {}

  std::map<std::string, std::string> files;
  std::vector<std::string> actions;  ///< in their order

  /// Does what is asked, and answers.
  void act(const std::string& action, const json& said, connection& to) {
    const auto [status, answer] = done(action, said);
    to.answer(status, answer.dump());
  }
  /// What is answered once it is done.
  std::pair<std::string, json> done(const std::string& action, const json& said) {
    const std::string path = said.value("path", "");
    const auto at = files.find(path);
    if (action == "get-status") return at == files.end() ? absent() : good(about(*at));
    if (action == "list") {
      json found = json::array();
      for (const auto& each : files) found.push_back(about(each));
      return good({{"files", found}});
    }
    if (action == "read") {
      const std::string part = at->second.substr(std::stoul(said.at("offset").get<std::string>()),
                                                 std::stoul(said.at("length").get<std::string>()));
      return good(
          {{"bytes_read", part.size()}, {"data", mds::detail::to_base64(mds::as_bytes(part))}});
    }
    if (action == "put") files[path] = decoded(said.at("contents"));
    if (action == "create") {
      files[path].clear();
      open_ = path;
      return good({{"handle", 7}});
    }
    if (action == "add-block") files[open_] += decoded(said.at("data"));
    if (action == "delete" && files.erase(path) == 0) return absent();
    if (action == "move") {
      const std::string from = said.at("source_path"), to = said.at("destination_path");
      if (!files.contains(from)) return absent();
      if (files.contains(to)) return {"400 X", {{"error_code", "RESOURCE_ALREADY_EXISTS"}}};
      files[to] = files[from];
      files.erase(from);
    }
    return good(json::object());
  }

  mds::store::dbfs store() {
    mds::store::dbfs_options options;
    options.endpoint = server_.url();
    options.credentials = mds::net::anonymous_access();
    options.part_retry = {.attempts = 3, .pause = std::chrono::milliseconds(0)};
    options.variables = [](const std::string&) { return std::nullopt; };
    return mds::store::dbfs(threads_, "dbfs:/c4", options);
  }

 private:
  static std::pair<std::string, json> good(json answer) { return {"200 OK", std::move(answer)}; }
  static std::pair<std::string, json> absent() {
    return {"404 X", {{"error_code", "RESOURCE_DOES_NOT_EXIST"}}};
  }
  static json about(const std::pair<const std::string, std::string>& file) {
    return {{"path", file.first},
            {"is_dir", false},
            {"file_size", file.second.size()},
            {"modification_time", 1}};
  }
  static std::string decoded(const json& text) {
    const auto bytes = mds::detail::from_base64(text.get<std::string>());
    return std::string(mds::as_text(bytes.value()));
  }
  /// The members of a body, or of a query.
  static json asked(const support::scripted_request& request) {
    if (request.method == "POST") return json::parse(request.body);
    json out = json::object();
    std::size_t at = request.target.find('?');
    while (at != std::string::npos) {
      const std::size_t equals = request.target.find('=', at);
      const std::size_t end = request.target.find('&', equals);
      std::string value = request.target.substr(equals + 1, end - equals - 1);
      for (std::size_t slash; (slash = value.find("%2F")) != std::string::npos;)
        value.replace(slash, 3, "/");
      out[request.target.substr(at + 1, equals - at - 1)] = value;
      at = end;
    }
    return out;
  }

  fault wrong_;
  std::string open_;
  std::mutex mutex_;
  mds::runtime threads_{1};
  support::scripted_server server_{
      [this](connection& to, const support::scripted_request& request) {
        const std::lock_guard lock(mutex_);
        const std::size_t begin = request.target.rfind("/dbfs/") + 6;
        const std::string action = request.target.substr(begin, request.target.find('?') - begin);
        const json said = asked(request);
        actions.push_back(action);
        if (!wrong_ || !wrong_(*this, action, said, to)) act(action, said, to);
      }};
};

/// Once: the call is carried out, and its answer lost.
workspace::fault loses_answer_of(const std::string& lost) {
  return [lost, open = true](workspace& fixture, const std::string& action, const json& said,
                             connection& to) mutable {
    if (action != lost || !std::exchange(open, false)) return false;
    (void)fixture.done(action, said);
    to.close();
    return true;
  };
}

/// The call is answered so each time.
workspace::fault answers(const std::string& refused, const std::string& status,
                         const json& answer) {
  return [=](workspace&, const std::string& action, const json&, connection& to) {
    if (action == refused) to.answer(status, answer.dump());
    return action == refused;
  };
}

const std::string three(3 * block - 5, 'x');

TEST_CASE("files of Databricks are written under a temporary name, and moved", "[clouds][dbfs]") {
  workspace fixture;
  const auto store = fixture.store();
  mds::store_write(store, "small", mds::as_bytes("123"));
  CHECK(fixture.actions == std::vector<std::string>{"put", "move"});
  fixture.actions.clear();
  mds::store_write(store, "large", mds::as_bytes(three));
  CHECK(fixture.actions == std::vector<std::string>{"create", "add-block", "add-block", "add-block",
                                                    "close", "get-status", "move"});
  CHECK(fixture.files ==
        std::map<std::string, std::string>{{"/c4/small", "123"}, {"/c4/large", three}});
  fixture.files["/c4/.mdstream-of-another.tmp"] = "1";
  CHECK(conformance::keys_of(store, "") == std::vector<std::string>{"large", "small"});
  CHECK(mds::store_size(store, "large") == three.size());
  CHECK(mds::as_text(mds::read_all(store, "large")) == three);
  mds::store_remove(store, "small");
  expect_error([&] { (void)mds::store_size(store, "small"); }, errc::not_found, {"dbfs:/c4/small"});
}

TEST_CASE("a file of Databricks is replaced", "[clouds][dbfs]") {
  workspace fixture;
  fixture.files["/c4/x"] = "old";
  mds::store_write(fixture.store(), "x", mds::as_bytes("new"));
  CHECK(fixture.files == std::map<std::string, std::string>{{"/c4/x", "new"}});
  CHECK(fixture.actions == std::vector<std::string>{"put", "move", "get-status", "delete", "move"});
}

TEST_CASE("a move whose answer is lost is found to be done", "[clouds][dbfs]") {
  workspace fixture(loses_answer_of("move"));
  mds::store_write(fixture.store(), "x", mds::as_bytes("new"));
  CHECK(fixture.files == std::map<std::string, std::string>{{"/c4/x", "new"}});
  CHECK(fixture.actions ==
        std::vector<std::string>{"put", "move", "move", "get-status", "get-status"});
}

TEST_CASE("a file that is under neither of its names is an error", "[clouds][dbfs]") {
  workspace fixture([](workspace& all, const std::string& action, const json&, connection&) {
    if (action == "move") all.files.clear();  // somebody else's doing
    return false;
  });
  const auto store = fixture.store();
  expect_error([&] { mds::store_write(store, "x", mds::as_bytes("new")); }, errc::unavailable,
               {"under neither of its names", "dbfs:/c4/x"});
}

TEST_CASE("a block that is there twice fails the write, and leaves nothing", "[clouds][dbfs]") {
  workspace fixture(loses_answer_of("add-block"));
  const auto store = fixture.store();
  expect_error([&] { mds::store_write(store, "x", mds::as_bytes(three)); }, errc::unavailable,
               {"other bytes than were sent", "dbfs:/c4/"});
  CHECK(fixture.files.empty());
}

TEST_CASE("who is overtaken again and again gives up, and leaves nothing of its own",
          "[clouds][dbfs]") {
  workspace fixture([](workspace& all, const std::string& action, const json&, connection&) {
    if (action == "move") all.files["/c4/x"] = "of another";
    return false;
  });
  const auto store = fixture.store();
  expect_error([&] { mds::store_write(store, "x", mds::as_bytes("new")); }, errc::invalid_argument,
               {"RESOURCE_ALREADY_EXISTS", "dbfs:/c4/x"});
  CHECK(fixture.files == std::map<std::string, std::string>{{"/c4/x", "of another"}});
}

TEST_CASE("if the old file is gone and the new one is not moved, the error says where it is",
          "[clouds][dbfs]") {
  workspace fixture(
      [moves = 0](workspace&, const std::string& action, const json&, connection& to) mutable {
        if (action != "move" || ++moves == 1) return false;
        to.answer("403 X", R"({"error_code": "PERMISSION_DENIED", "message": "no longer"})");
        return true;
      });
  fixture.files["/c4/x"] = "old";
  const auto store = fixture.store();
  expect_error([&] { mds::store_write(store, "x", mds::as_bytes("new")); }, errc::permission_denied,
               {"no longer", "the old file may be gone", "dbfs:/c4/.mdstream-"});
  REQUIRE(fixture.files.size() == 1);
  CHECK(fixture.files.begin()->first.starts_with("/c4/.mdstream-"));
  CHECK(fixture.files.begin()->second == "new");
}

TEST_CASE("a write that is refused leaves no temporary file", "[clouds][dbfs]") {
  for (const char* const refused : {"put", "move", "create", "add-block", "close"}) {
    INFO(refused);
    const json no = {{"error_code", "PERMISSION_DENIED"}, {"message", "not you"}};
    workspace fixture(answers(refused, "403 X", no));
    const auto store = fixture.store();
    const bool large = std::string(refused) != "put" && std::string(refused) != "move";
    expect_error(
        [&] { mds::store_write(store, "x", mds::as_bytes(large ? three : std::string("1"))); },
        errc::permission_denied, {"not you"});
    CHECK(fixture.files.empty());
  }
}

TEST_CASE("answers of Databricks that contradict themselves are refused", "[clouds][dbfs]") {
  const auto refuse = [](const char* action, const json& answer, auto call, errc code,
                         const char* why) {
    INFO(answer);
    workspace fixture(answers(action, "200 OK", answer));
    fixture.files["/c4/x"] = "123";
    const auto store = fixture.store();
    expect_error([&] { call(store); }, code, {why});
  };
  const auto reads = [](const auto& store) { (void)mds::read_all(store, "x"); };
  const auto lists = [](const auto& store) { (void)mds::store_list(store, ""); };
  const auto sizes = [](const auto& store) { (void)mds::store_size(store, "x"); };
  const auto writes = [](const auto& store) { mds::store_write(store, "y", mds::as_bytes(three)); };
  refuse("read", {{"bytes_read", 3}, {"data", "YWI="}}, reads, errc::corrupt,
         "the bytes that it says");
  refuse("list", {{"files", {{{"path", "c4/x"}}}}}, lists, errc::corrupt, "relative path");
  refuse("get-status", {{"is_dir", true}, {"file_size", 0}}, sizes, errc::not_found,
         "a directory of that name");
  refuse("create", json::object(), writes, errc::corrupt, "no handle");
}

}  // namespace clouds_dbfs_files_test
