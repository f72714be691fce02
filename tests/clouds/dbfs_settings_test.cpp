// Databricks: URLs, variables and profiles.

#include <mdstream/store/dbfs/options.hpp>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "net/keys.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace clouds_dbfs_settings_test {

namespace mds = mdstream;
using mds::errc;
using support::expect_error;
using variables = std::map<std::string, std::string>;

mds::store::dbfs_settings resolved(const std::string& url, variables set) {
  mds::store::dbfs_options options;
  options.warn = nullptr;
  options.variables = keys::variables(std::move(set));
  return mds::store::resolve_dbfs(url, options);
}

TEST_CASE("URLs of Databricks", "[clouds][dbfs]") {
  const variables environment{{"DATABRICKS_HOST", "adb-1.azuredatabricks.net/?o=1"},
                              {"DATABRICKS_TOKEN", "hush"}};
  const auto volume = resolved("dbfs:/Volumes/main/schema/data/a/b/", environment);
  CHECK(volume.host == "https://adb-1.azuredatabricks.net");
  CHECK(volume.volume == "/Volumes/main/schema/data");
  CHECK(volume.root == "a/b");
  CHECK(volume.url("a/b/x") == "dbfs:/Volumes/main/schema/data/a/b/x");
  CHECK(volume.token == "hush");
  CHECK(volume.token_source == "the environment (DATABRICKS_TOKEN)");
  CHECK(resolved("dbfs:/Volumes/main/schema/data", environment).root.empty());
  const auto files = resolved("dbfs:///mnt/x?endpoint=http%3A%2F%2F127.0.0.1%3A80", environment);
  CHECK(files.volume.empty());
  CHECK(files.root == "mnt/x");
  CHECK(files.path("mnt/x/y") == "/mnt/x/y");
  CHECK(files.host == "http://127.0.0.1:80");
  const auto refused = [&](const std::string& url, const char* why) {
    INFO(url);
    expect_error([&] { (void)resolved(url, environment); }, errc::invalid_argument, {why});
  };
  refused("dbfs:x", "dbfs:/Volumes/");
  refused("dbfs://host/x", "dbfs:/Volumes/");
  refused("dbfs:/Volumes/main/schema", "<catalog>");
  refused("dbfs:/Volumes", "<catalog>");
  refused("dbfs:/Volumes/main/schema/data/../x", "..");
  refused("dbfs:/x?token=hush", "\"token\"");
  expect_error([] { (void)resolved("dbfs:/x", {{"HOME", "/nonexistent"}}); },
               errc::invalid_argument, {"DATABRICKS_HOST"});
}

TEST_CASE("profiles of Databricks", "[clouds][dbfs]") {
  const auto directory =
      std::filesystem::temp_directory_path() / ("dbfs_settings_" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  const std::string file = (directory / "cfg").string();
  std::ofstream(file) << "[DEFAULT]\nhost = https://one.example\ntoken = hush1\n"
                         "[robot]\nhost = https://two.example/\nclient_id = me\n"
                         "client_secret = hush #2\n[odd]\nhost = h\nauth_type = external-browser\n";
  const variables environment{{"DATABRICKS_CONFIG_FILE", file}};
  const auto plain = resolved("dbfs:/x", environment);
  CHECK(plain.host == "https://one.example");
  CHECK(plain.token == "hush1");
  CHECK(plain.token_source == "the profile DEFAULT in " + file);
  const auto robot = resolved("dbfs:/x?profile=robot", environment);
  CHECK(robot.host == "https://two.example");
  CHECK(robot.token.empty());
  CHECK(robot.client_id == "me");
  CHECK(robot.client_secret == "hush #2");
  CHECK(robot.client_source == "the profile robot in " + file);
  auto with_host = environment;
  with_host["DATABRICKS_HOST"] = "https://three.example";
  CHECK(resolved("dbfs:/x", with_host).token.empty());
  expect_error([&] { (void)resolved("dbfs:/x?profile=none", environment); }, errc::invalid_argument,
               {"no profile none", file});
  expect_error([&] { (void)resolved("dbfs:/x?profile=odd", environment); }, errc::unsupported,
               {"DATABRICKS_AUTH_TYPE"});
  std::filesystem::remove_all(directory);
}

}  // namespace clouds_dbfs_settings_test
