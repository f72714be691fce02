// Who gives out tokens for a workspace of Databricks. Shapes of Databricks' SDK for Python.

#include <mdstream/store/detail/dbfs/logins.hpp>

#include <mdstream/store/dbfs.hpp>
#include <mdstream/store/detail/dbfs/keys.hpp>
#include <mdstream/store/operations.hpp>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "net/service.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace clouds_dbfs_logins_test {

namespace mds = mdstream;
namespace net = mds::net;
using mds::errc;
using service::access_answer;
using service::reply;
using support::expect_error;
using support::scripted_request;
using variables = std::map<std::string, std::string>;

const char* const token_json =
    R"({"access_token":"hush-1","token_type":"Bearer","expires_in":3600})";

/// What the ways to a token come to with these variables, for a workspace at `host`.
access_answer ask(mds::runtime& threads, const std::string& host, variables set) {
  set.emplace("DATABRICKS_HOST", host);
  mds::store::dbfs_options options;
  options.warn = nullptr;
  options.variables = keys::variables(std::move(set));
  const auto settings = mds::store::resolve_dbfs("dbfs:/Volumes/a/b/c", options);
  return service::ask_access(mds::detail::default_dbfs_access(threads, settings, options));
}

/// The headers that a request gets.
std::map<std::string, std::string> headers_of(const access_answer& found) {
  INFO(found.text());
  REQUIRE(found.keys);
  net::http_request request{.url = "https://host/x"};
  found.keys->authorize(request, {});
  std::map<std::string, std::string> out;
  for (const auto& each : request.headers) out[each.name] = each.value;
  return out;
}

TEST_CASE("a token of an identity provider is exchanged for one of the workspace",
          "[clouds][dbfs]") {
  mds::runtime threads(1);
  service::server workspace([](const scripted_request&) { return reply{.body = token_json}; });
  const auto asked = [&](variables set) {
    const auto found = ask(threads, workspace.url(), std::move(set));
    CHECK(headers_of(found)["Authorization"] == "Bearer hush-1");
    const scripted_request request = workspace.requests().back();
    CHECK(request.method == "POST");
    CHECK(request.target == "/oidc/v1/token");
    CHECK(request.header("authorization").empty());
    return request.body;
  };
  const std::string form =
      "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&"
      "subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt&"
      "subject_token=hush.of.it&scope=all-apis";
  CHECK(asked({{"DATABRICKS_OIDC_TOKEN", "hush.of.it"}}) == form);
  CHECK(asked({{"DATABRICKS_OIDC_TOKEN_ENV", "CI_TOKEN"},
               {"CI_TOKEN", "hush.of.it\n"},
               {"DATABRICKS_CLIENT_ID", "robot"}}) == form + "&client_id=robot");
  const keys::home home("");
  home.write("token", "hush.of.it\n");
  for (const char* const name : {"DATABRICKS_OIDC_TOKEN_FILEPATH", "DATABRICKS_OIDC_TOKEN_FILE"})
    CHECK(asked({{name, home.path() + "/token"}}) == form);
  const auto absent =
      ask(threads, workspace.url(), {{"DATABRICKS_OIDC_TOKEN_FILEPATH", home.path() + "/absent"}});
  CHECK(absent.code == errc::permission_denied);
  CHECK(absent.text().find("/absent") != std::string::npos);
}

TEST_CASE("a workflow of GitHub asks for a token and has it exchanged", "[clouds][dbfs]") {
  mds::runtime threads(1);
  service::server workspace([](const scripted_request&) { return reply{.body = token_json}; });
  int status = 200;
  service::server github([&](const scripted_request&) {
    return reply{.status = status, .body = R"({"value":"hush.of.github"})"};
  });
  variables set{{"ACTIONS_ID_TOKEN_REQUEST_URL", github.url() + "/token?api=2"},
                {"ACTIONS_ID_TOKEN_REQUEST_TOKEN", "hush-request"},
                {"DATABRICKS_CLIENT_ID", "robot"}};
  CHECK(headers_of(ask(threads, workspace.url(), set))["Authorization"] == "Bearer hush-1");
  REQUIRE(github.requests().size() == 1);
  CHECK(github.requests()[0].header("authorization") == "Bearer hush-request");
  CHECK(github.requests()[0].target ==
        "/token?api=2&audience=" + net::percent_encode(workspace.url() + "/oidc/v1/token"));
  CHECK(workspace.requests()[0].header("authorization").empty());
  CHECK(workspace.requests()[0].body.find("subject_token=hush.of.github") != std::string::npos);
  set["DATABRICKS_TOKEN_AUDIENCE"] = "mine";
  (void)ask(threads, workspace.url(), set);
  CHECK(github.requests()[1].target == "/token?api=2&audience=mine");
  status = 403;
  const auto refused = ask(threads, workspace.url(), set);
  CHECK(refused.code == errc::permission_denied);
  CHECK(refused.text().find("GitHub answers 403") != std::string::npos);
  CHECK(refused.text().find("hush") == std::string::npos);
}

TEST_CASE("a service principal of Entra lets into workspaces of Azure", "[clouds][dbfs]") {
  mds::runtime threads(1);
  service::server entra([n = 0](const scripted_request&) mutable {
    ++n;
    return reply{.body = R"({"access_token":"hush-)" + std::to_string(n) + R"(","expires_in":)" +
                         (n == 2 ? "600}" : "3600}")};
  });
  const std::string azure = "https://adb-1.2.azuredatabricks.net";
  variables set{{"ARM_CLIENT_ID", "robot"},
                {"ARM_CLIENT_SECRET", "hush secret"},
                {"AZURE_AUTHORITY_HOST", entra.url()}};
  const auto lacking = ask(threads, azure, set);
  CHECK(lacking.code == errc::invalid_argument);
  CHECK(lacking.text().find("ARM_TENANT_ID") != std::string::npos);
  set["ARM_TENANT_ID"] = "tenant";
  const auto first = headers_of(ask(threads, azure, set));
  CHECK(first == std::map<std::string, std::string>{{"Authorization", "Bearer hush-1"}});
  CHECK(entra.requests()[0].target == "/tenant/oauth2/v2.0/token");
  CHECK(entra.requests()[0].body ==
        "grant_type=client_credentials&client_id=robot&client_secret=hush%20secret&"
        "scope=2ff814a6-3304-4ab8-85cb-cd0e6f879c1d%2F.default");
  // A principal that is no user of the workspace: its rights come from Azure's management.
  set["DATABRICKS_AZURE_RESOURCE_ID"] = "/subscriptions/s/workspaces/w";
  const auto both = ask(threads, azure, set);
  CHECK(headers_of(both) ==
        std::map<std::string, std::string>{
            {"Authorization", "Bearer hush-2"},
            {"X-Databricks-Azure-SP-Management-Token", "hush-3"},
            {"X-Databricks-Azure-Workspace-Resource-Id", "/subscriptions/s/workspaces/w"}});
  CHECK(entra.requests()[2].body.find(
            "scope=https%3A%2F%2Fmanagement.core.windows.net%2F.default") != std::string::npos);
  CHECK(*both.keys->expires < net::wall_clock::now() + std::chrono::minutes(11));
  CHECK(both.keys->secrets.size() == 2);
  // Elsewhere it is for something else, unless it is named.
  const std::size_t before = entra.requests().size();
  CHECK(ask(threads, "https://w.cloud.databricks.com", set).nobody());
  CHECK(entra.requests().size() == before);
  set["DATABRICKS_AUTH_TYPE"] = "azure-client-secret";
  CHECK(ask(threads, "https://w.example", set).keys);
  set["ARM_ENVIRONMENT"] = "mars";
  CHECK(ask(threads, "https://w.example", set).text().find("ARM_ENVIRONMENT") != std::string::npos);
}

TEST_CASE("each of Azure's clouds has its own Entra", "[clouds][dbfs]") {
  const auto url = [](const char* host, const char* environment) {
    const mds::store::dbfs_settings settings{.host = host,
                                             .azure_client_id = "c",
                                             .azure_client_secret = "s",
                                             .azure_tenant_id = "t",
                                             .azure_environment = environment};
    return mds::detail::dbfs::entra_question(settings, keys::variables({}), "x")->url + ' ' +
           mds::detail::dbfs::management_scope(settings);
  };
  const std::string end = "/t/oauth2/v2.0/token https://management.core.";
  CHECK(url("https://a.azuredatabricks.net", "") ==
        "https://login.microsoftonline.com" + end + "windows.net/.default");
  CHECK(url("https://a.databricks.azure.us", "") ==
        "https://login.microsoftonline.us" + end + "usgovcloudapi.net/.default");
  CHECK(url("https://a.databricks.azure.cn", "") ==
        "https://login.chinacloudapi.cn" + end + "chinacloudapi.cn/.default");
  CHECK(url("https://a.example", "china").starts_with("https://login.chinacloudapi.cn"));
  using mds::detail::dbfs::is_of_azure;
  CHECK_FALSE(is_of_azure("https://azuredatabricks.net.example"));
  CHECK_FALSE(is_of_azure("https://evilazuredatabricks.net"));
}

/// Programs in a directory that PATH names.
struct programs {
  programs() : home("") { std::filesystem::create_directories(home.path() + "/bin"); }

  /// It notes its words in the file `asked`.
  void write(const std::string& name, const std::string& script) const {
    home.write("bin/" + name,
               "#!/bin/sh\necho \"$@\" >" + home.path() + "/asked\n" + script + "\n");
    std::filesystem::permissions(home.path() + "/bin/" + name, std::filesystem::perms::owner_all);
  }
  [[nodiscard]] variables with(variables more = {}) const {
    more.emplace("PATH", "/nonexistent:" + home.path() + "/bin");
    more.emplace("HOME", home.path());
    return more;
  }
  [[nodiscard]] std::string asked() const {
    std::ifstream in(home.path() + "/asked");
    std::string line;
    std::getline(in, line);
    return line;
  }
  keys::home home;
};

TEST_CASE("Databricks' command line is asked for its login's token", "[clouds][dbfs]") {
  mds::runtime threads(1);
  const programs bin;
  const std::string host = "https://w.cloud.databricks.com";
  CHECK(ask(threads, host, bin.with()).nobody());  // there is none
  bin.write(
      "databricks",
      R"(echo '{"access_token":"hush-1","token_type":"Bearer","expiry":"2040-01-02T03:04:05.6+02:00"}')");
  const auto found = ask(threads, host, bin.with());
  CHECK(headers_of(found)["Authorization"] == "Bearer hush-1");
  CHECK(found.keys->expires == net::parse_iso_time("2040-01-02T01:04:05Z"));
  CHECK(bin.asked() == "auth token --host " + host);
  bin.home.write(".databrickscfg", "[robot]\nhost = " + host + "\nauth_type = databricks-cli\n");
  CHECK(ask(threads, host, bin.with({{"DATABRICKS_CONFIG_PROFILE", "robot"}})).keys);
  CHECK(bin.asked() == "auth token --profile robot");
  bin.write("mine", R"(echo '{"access_token":"hush-2"}')");
  const auto named =
      ask(threads, host, bin.with({{"DATABRICKS_CLI_PATH", bin.home.path() + "/bin/mine"}}));
  CHECK(headers_of(named)["Authorization"] == "Bearer hush-2");
  // One that has no login: another way may have one, unless it is named.
  bin.write("databricks", "echo hush; exit 3");
  CHECK(ask(threads, host, bin.with()).nobody());
  const auto failed = ask(threads, host, bin.with({{"DATABRICKS_AUTH_TYPE", "databricks-cli"}}));
  CHECK(failed.code == errc::permission_denied);
  CHECK(failed.text().find("status 3") != std::string::npos);
  CHECK(failed.text().find("databricks auth token --host " + host) != std::string::npos);
  CHECK(failed.text().find("hush") == std::string::npos);
  for (const char* const bad :
       {"hush", "{}", R"({"access_token":""})", R"({"access_token":7})",
        R"({"access_token":"hush hush"})", R"({"access_token":"hush\u000ax"})"}) {
    INFO(bad);
    bin.write("databricks", "printf '%s' '" + std::string(bad) + "'");
    const auto refused = ask(threads, host, bin.with());
    CHECK(refused.code);
    CHECK(refused.text().find("command line") != std::string::npos);
    CHECK(refused.text().find("hush") == std::string::npos);
  }
}

TEST_CASE("a workspace that a dataset's URL names gets no token of a program", "[clouds][dbfs]") {
  mds::runtime threads(1);
  const programs bin;
  bin.write("databricks", R"(echo '{"access_token":"hush-1"}')");
  mds::store::dbfs_options options;
  options.warn = nullptr;
  options.variables = keys::variables(bin.with());
  const auto settings =
      mds::store::resolve_dbfs("dbfs:/Volumes/a/b/c?endpoint=https%3A%2F%2Fevil.example", options);
  const auto found =
      service::ask_access(mds::detail::default_dbfs_access(threads, settings, options));
  CHECK(found.code == errc::permission_denied);
  CHECK(found.text().find("evil.example") != std::string::npos);
  CHECK(bin.asked().empty());
}

TEST_CASE("Azure's command line is asked for a token for Databricks", "[clouds][dbfs]") {
  mds::runtime threads(1);
  const programs bin;
  const std::string azure = "https://adb-1.2.azuredatabricks.net";
  bin.write(
      "az",
      R"(echo '{"accessToken":"hush-1","expiresOn":"2040-01-01 00:00:00.000000","expires_on":2208988800,"tokenType":"Bearer"}')");
  const auto found = ask(threads, azure, bin.with());
  CHECK(headers_of(found)["Authorization"] == "Bearer hush-1");
  CHECK(found.keys->expires == net::parse_iso_time("2040-01-01T00:00:00Z"));
  CHECK(bin.asked() ==
        "account get-access-token --resource 2ff814a6-3304-4ab8-85cb-cd0e6f879c1d --output json");
  CHECK(ask(threads, azure, bin.with({{"ARM_TENANT_ID", "t"}})).keys);
  CHECK(bin.asked().ends_with("--output json --tenant t"));
  CHECK(ask(threads, "https://w.cloud.databricks.com", bin.with()).nobody());
  CHECK(ask(threads, "https://w.example", bin.with({{"DATABRICKS_AUTH_TYPE", "azure-cli"}})).keys);
}

TEST_CASE("a machine of Azure has an identity, if that is asked for", "[clouds][dbfs]") {
  mds::runtime threads(1);
  service::server machine([](const scripted_request&) {
    return reply{.body = R"({"access_token":"hush-1","expires_on":"2208988800"})"};
  });
  const std::string azure = "https://adb-1.2.azuredatabricks.net";
  variables set{{"AZURE_POD_IDENTITY_AUTHORITY_HOST", machine.url() + '/'}};
  CHECK(ask(threads, azure, set).nobody());
  CHECK(machine.requests().empty());
  set["ARM_USE_MSI"] = "True";
  const auto found = ask(threads, azure, set);
  CHECK(headers_of(found)["Authorization"] == "Bearer hush-1");
  CHECK(found.keys->expires == net::parse_iso_time("2040-01-01T00:00:00Z"));
  CHECK(machine.requests().back().header("metadata") == "true");
  const std::string target =
      "/metadata/identity/oauth2/token?api-version=2018-02-01&resource="
      "2ff814a6-3304-4ab8-85cb-cd0e6f879c1d";
  CHECK(machine.requests().back().target == target);
  set["ARM_CLIENT_ID"] = "me too";
  CHECK(ask(threads, azure, set).keys);
  CHECK(machine.requests().back().target == target + "&client_id=me%20too");
}

TEST_CASE("the way that is named is the only one", "[clouds][dbfs]") {
  mds::runtime threads(1);
  service::server workspace([](const scripted_request&) { return reply{.body = token_json}; });
  const variables all{{"DATABRICKS_TOKEN", "hush-pat"},
                      {"DATABRICKS_CLIENT_ID", "robot"},
                      {"DATABRICKS_CLIENT_SECRET", "hush-secret"}};
  const auto with = [&](const char* type) {
    variables set = all;
    if (*type != '\0') set["DATABRICKS_AUTH_TYPE"] = type;
    return ask(threads, workspace.url(), set);
  };
  CHECK(headers_of(with(""))["Authorization"] == "Bearer hush-pat");
  CHECK(headers_of(with("pat"))["Authorization"] == "Bearer hush-pat");
  CHECK(headers_of(with("oauth-m2m"))["Authorization"] == "Bearer hush-1");
  const auto lacking = with("file-oidc");
  CHECK(lacking.code == errc::permission_denied);
  CHECK(lacking.text().find("DATABRICKS_AUTH_TYPE is file-oidc") != std::string::npos);
  expect_error([&] { (void)with("external-browser"); }, errc::unsupported,
               {"external-browser", "oauth-m2m", "azure-cli"});
}

}  // namespace clouds_dbfs_logins_test
