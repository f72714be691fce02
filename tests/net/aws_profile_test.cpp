#include <mdstream/net/aws_profile.hpp>

#include <atomic>
#include <filesystem>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "net/service.hpp"
#include "support/catch.hpp"

namespace aws_profile_test {

using namespace service;

/// A Security Token Service that gives keys called after who asks and for what.
reply sts(const scripted_request& asked) {
  const bool web = asked.body.find("AssumeRoleWithWebIdentity") != std::string::npos;
  const std::string by = asked.header("authorization");
  const std::size_t begin = by.find("Credential=") + 11;
  const std::string id = web ? "web" : by.substr(begin, by.find('/', begin) - begin);
  return {200, keys_xml(web ? "AssumeRoleWithWebIdentity" : "AssumeRole", "from-" + id)};
}

struct world {
  mds::runtime threads{1};
  server web{&sts};
  keys::home home{""};

  net::aws_key_sources sources(std::map<std::string, std::string> more = {}) {
    more.emplace("HOME", home.path());
    more.emplace("AWS_ENDPOINT_URL_STS", web.url());
    more.emplace("AWS_EC2_METADATA_DISABLED", "true");
    return {threads, net::http_client_options{.direct = true}, keys::variables(std::move(more)),
            "eu-1"};
  }
  keys::answer of(const std::string& config, const std::string& profile = "default",
                  std::map<std::string, std::string> more = {}) {
    home.write(".aws/config", config);
    return ask(net::described_aws_credentials(sources(std::move(more)), profile));
  }
};

const std::string base = "[profile base]\naws_access_key_id = BASE\naws_secret_access_key = hush\n";

TEST_CASE("a profile's way to its keys is found", "[net][aws]") {
  world w;
  CHECK(w.of(base, "base").keys->access_key_id == "BASE");
  CHECK_FALSE(w.of("[default]\nregion = x\n").keys);
  check_keys(w.of(base + "[default]\nrole_arn = r1\nsource_profile = base\n"), "from-BASE", "r1");
  check_keys(w.of(base + "[profile a]\nrole_arn = r1\nsource_profile = base\n"
                         "[default]\nrole_arn = r2\nsource_profile = a\n"),
             "from-from-BASE", "r2");
  check_keys(w.of("[default]\naws_access_key_id = OWN\naws_secret_access_key = hush\n"
                  "role_arn = r\nsource_profile = default\n"),
             "from-OWN", "assumed role");
  check_keys(w.of("[default]\nrole_arn = r\ncredential_source = Environment\n", "default",
                  {{"AWS_ACCESS_KEY_ID", "ENV"}, {"AWS_SECRET_ACCESS_KEY", "hush"}}),
             "from-ENV", "assumed role");
  w.home.write("token", "t");
  check_keys(
      w.of("[default]\nrole_arn = r\nweb_identity_token_file = " + w.home.path() + "/token\n"),
      "from-web", "web identity");
  w.home.write("keys.json", keys_json("PROC"));
  check_keys(w.of("[default]\ncredential_process = cat " + w.home.path() + "/keys.json\n"), "PROC",
             "credential_process");
}

TEST_CASE("a profile's files are read on the pool, whoever asks", "[net][aws]") {
  world w;
  w.home.write(".aws/config", base);
  std::promise<std::thread::id> asked_on, read_on;
  std::atomic<bool> is_read{false};
  mds::diagnostics where;
  auto variables = w.sources().variables;
  net::aws_key_sources sources = w.sources();
  sources.variables = [&, variables](const std::string& name) {
    if (name == "HOME" && !is_read.exchange(true)) read_on.set_value(std::this_thread::get_id());
    return variables(name);
  };
  std::promise<void> over;
  asio::post(w.threads.io(), [&] {
    asked_on.set_value(std::this_thread::get_id());
    net::described_aws_credentials(sources, "base")
        .async_find({}, where, [&](std::error_code code, auto found) {
          CHECK_FALSE(code);
          CHECK(found->access_key_id == "BASE");
          over.set_value();
        });
  });
  over.get_future().get();
  CHECK(read_on.get_future().get() != asked_on.get_future().get());
}

TEST_CASE("a profile that can not lead to keys says why", "[net][aws]") {
  world w;
  check_refused(w.of("[default]\nrole_arn = r\n"), {"\"default\"", "source_profile"});
  check_refused(w.of("[default]\nrole_arn = r\nsource_profile = gone\n"), {"\"gone\""});
  check_refused(w.of("[default]\nrole_arn = r\nsource_profile = a\n[profile a]\nrole_arn = r\n"
                     "source_profile = default\n"),
                {"without credentials"});
  check_refused(w.of(base + "[default]\nrole_arn = r\nsource_profile = base\nmfa_serial = m\n"),
                {"second factor"});
  check_refused(w.of("[default]\nsso_session = gone\n"), {"sso_session"});
  check_refused(w.of("[default]\nsso_start_url = u\nsso_region = r\n"), {"sso_account_id"});
  check_refused(w.of("[default]\nsso_start_url = u\nsso_region = r\nsso_account_id = 1\n"
                     "sso_role_name = r\n"),
                {"aws sso login --profile default"});
  check_refused(w.of("[default]\nrubbish"), {"line 2"});
}

TEST_CASE("the chain asks in AWS's order", "[net][aws]") {
  world w;
  w.home.write("token", "t");
  w.home.write(".aws/config", base +
                                  "[default]\naws_access_key_id = FILE\n"
                                  "aws_secret_access_key = hush\n");
  const auto first = [&](std::map<std::string, std::string> more, const std::string& profile = "") {
    const auto said = ask(net::default_aws_credentials(w.sources(std::move(more)), profile));
    return said.keys ? said.keys->access_key_id : said.text();
  };
  const std::map<std::string, std::string> own{{"AWS_ACCESS_KEY_ID", "ENV"},
                                               {"AWS_SECRET_ACCESS_KEY", "hush"}};
  const std::map<std::string, std::string> web{
      {"AWS_WEB_IDENTITY_TOKEN_FILE", w.home.path() + "/token"},
      {"AWS_ROLE_ARN", "r"},
      {"AWS_ROLE_SESSION_NAME", "n"}};
  CHECK(first({}) == "FILE");
  CHECK(first(web) == "from-web");
  CHECK(w.web.requests().back().body.find("RoleSessionName=n") != std::string::npos);
  auto both = own;
  both.insert(web.begin(), web.end());
  CHECK(first(both) == "ENV");
  CHECK(first(both, "base") == "BASE");
  w.home.write(".aws/config", "");
  CHECK_FALSE(ask(net::default_aws_credentials(w.sources(), "")).keys);
}

TEST_CASE("the services of a login are where the environment says", "[net][aws]") {
  world w;
  std::filesystem::create_directories(w.home.path() + "/.aws/sso/cache");
  // The SHA-1 of "work", as sha1sum prints it.
  w.home.write(".aws/sso/cache/e274eeff768c6396088ec6eb091f4bf4d47ab1e0.json",
               R"({"accessToken": "old", "expiresAt": "2001-01-01T00:00:00Z", "clientId": "id", )"
               R"("clientSecret": "hush", "refreshToken": "hush-0"})");
  const server tokens([](const scripted_request& asked) {
    return asked.target == "/token" ? reply{200, R"({"accessToken": "new", "expiresIn": 3600})"}
                                    : reply{404};
  });
  const server portal([](const scripted_request& asked) {
    if (asked.header("x-amz-sso_bearer_token") != "new") return reply{401};
    return reply{200, R"({"roleCredentials": {"accessKeyId": "SSO", "secretAccessKey": "hush", )"
                      R"("sessionToken": "hush-token", "expiration": 2209086245000}})"};
  });
  check_keys(
      w.of("[default]\nsso_session = work\nsso_account_id = 1\nsso_role_name = r\n"
           "[sso-session work]\nsso_region = eu-1\n",
           "default",
           {{"AWS_ENDPOINT_URL_SSO", portal.url()}, {"AWS_ENDPOINT_URL_SSO_OIDC", tokens.url()}}),
      "SSO", "default");
  CHECK(tokens.requests().size() == 1);
}

}  // namespace aws_profile_test
