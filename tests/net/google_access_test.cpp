#include <mdstream/net/google_access.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "net/service.hpp"
#include "support/catch.hpp"

namespace google_access_test {

using namespace service;
using mds::errc;
namespace fs = std::filesystem;

constexpr const char* login_file = ".config/gcloud/application_default_credentials.json";

/// A home with a login of Google's command line, which everybody may read.
struct google_home {
  explicit google_home(const std::string& login) : home("") {
    fs::create_directories(fs::path(home.path()) / ".config/gcloud");
    home.write(login_file, login);
    fs::permissions(fs::path(home.path()) / login_file, fs::perms(0644));
  }

  /// Asks as often as a chain without keys does.
  access_answer ask(unsigned times = 1, std::map<std::string, std::string> more = {}) {
    more.emplace("NO_GCE_CHECK", "true");
    const auto provider =
        net::default_google_access(threads, {}, home.with(std::move(more)),
                                   [this](const std::string& text) { warnings.push_back(text); });
    access_answer out;
    for (unsigned i = 0; i < times; ++i) out = ask_access(provider);
    return out;
  }

  mds::runtime threads{1};
  keys::home home;
  std::vector<std::string> warnings{};
};

TEST_CASE("an error about a damaged file of Google names the file", "[net]") {
  const auto refused = [](const std::string& text, const char* why) {
    INFO(text);
    google_home fixture(text);
    const auto said = fixture.ask();
    CHECK(said.code == errc::invalid_argument);
    INFO(said.text());
    CHECK(said.text().find(why) != std::string::npos);
    CHECK(said.text().find(login_file) != std::string::npos);
    CHECK(said.text().find("hush") == std::string::npos);
  };
  refused("{}", "\"type\"");
  refused(R"({"type": "hush"})", "its type is not one of");
  refused("{\"type\":\n hush", "line 2");
  refused(R"({"type": "authorized_user", "client_id": "c"})", "\"client_secret\"");
  const std::string federated =
      R"({"type": "external_account", "audience": "a", "subject_token_type": "t", )"
      R"("token_url": "u", "credential_source": )";
  refused(R"({"type": "external_account"})", "\"audience\"");
  refused(federated + "1}", "\"credential_source\" is no object");
  refused(federated + R"({"hush": 1}})", "credential_source");
  refused(federated + R"({"environment_id": "aws2", "regional_cred_verification_url": "hush"}})",
          "aws1");
  refused(federated + R"({"environment_id": "aws1"}})", "regional_cred_verification_url");
  refused(
      federated + R"({"environment_id": "aws1", "regional_cred_verification_url": "http://h"}})",
      "https");
  refused(federated + R"({"executable": {"command": "x", "timeout_millis": 4999}}})",
          "timeout_millis");
  refused(federated + R"({"executable": {"command": "x", "timeout_millis": "hush"}}})",
          "timeout_millis");
  refused(federated + R"({"url": "u", "headers": {"a": 1}}})", "headers");
  refused(R"({"type": "authorized_user", "quota_project_id": "a\r\nhush: b", "client_id": "c", )"
          R"("client_secret": "hush", "refresh_token": "hush"})",
          "quota_project_id");
  refused(R"({"type": "impersonated_service_account"})", "source_credentials");
  refused(R"({"type": "impersonated_service_account", "source_credentials": {"type": "hush"}})",
          "its type is not one of");
  refused(R"({"type": "impersonated_service_account", "source_credentials": {"type": )"
          R"("external_account", "service_account_impersonation_url": "hush"}})",
          "use delegates");
  for (const char* const delegates : {R"("hush")", R"(["a", 1])"}) {
    refused(R"({"type": "impersonated_service_account", "service_account_impersonation_url": "u", )"
            R"("source_credentials": {"type": "authorized_user", "client_id": "c", )"
            R"("client_secret": "hush", "refresh_token": "hush"}, "delegates": )" +
                std::string(delegates) + "}",
            "\"delegates\"");
  }
  refused(R"({"type": "service_account", "client_email": "me", "private_key": )"
          R"("-----BEGIN PRIVATE KEY-----\nhu sh\n"})",
          "\"private_key\" of ");
}

TEST_CASE("a login that everybody may read is used, with one warning", "[net]") {
  const server service([](const scripted_request&) {
    return reply{200, R"({"access_token": "hush", "expires_in": 3600})"};
  });
  google_home fixture(R"({"type": "authorized_user", "client_id": "c", "client_secret": "hush", )"
                      R"("refresh_token": "hush", "token_uri": ")" +
                      service.url() + "/token\"}");
  const auto said = fixture.ask(3);
  REQUIRE(said.keys);
  CHECK(said.keys->source.find(login_file) != std::string::npos);
  CHECK(service.requests().size() == 3);
  REQUIRE(fixture.warnings.size() == 1);
  CHECK(fixture.warnings[0].find(login_file) != std::string::npos);
}

TEST_CASE("a file that is named has to be there, others need not", "[net]") {
  google_home fixture("{}");
  fs::remove(fs::path(fixture.home.path()) / login_file);
  CHECK(fixture.ask().nobody());
  const auto said = fixture.ask(1, {{"GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent/key"}});
  CHECK(said.code == errc::permission_denied);
  CHECK(said.text().find("/nonexistent/key") != std::string::npos);
}

TEST_CASE("an impersonated account's token expires by the clock of who gave it", "[net]") {
  const server service([](const scripted_request& asked) {
    if (asked.target == "/sts") return reply{200, R"({"access_token": "hush", "expires_in": 9})"};
    return reply{200, R"({"accessToken": "hush", "expireTime": "2040-01-02T03:04:05Z"})",
                 years_ahead};
  });
  google_home login("{}");
  login.home.write("subject", "hush");
  login.home.write(login_file,
                   R"({"type": "external_account", "audience": "a", "subject_token_type": "t", )"
                   R"("credential_source": {"file": ")" +
                       login.home.path() + R"(/subject"}, "token_url": ")" + service.url() +
                       R"(/sts", "service_account_impersonation_url": ")" + service.url() +
                       "/me\"}");
  const auto said = login.ask();
  INFO(said.text());
  REQUIRE(said.keys);
  check_an_hour_left(said.keys->expires);
}

/// A login that impersonates a service account by `delegates`, a member of the file or nothing.
std::string impersonating(const server& service, const std::string& delegates = "") {
  return R"({"type": "impersonated_service_account", )" + delegates +
         R"("source_credentials": {"type": "authorized_user", "client_id": "c", )"
         R"("client_secret": "hush", "refresh_token": "hush", "token_uri": ")" +
         service.url() + R"(/token"}, "service_account_impersonation_url": ")" + service.url() +
         "/it:generateAccessToken\"}";
}

TEST_CASE("a login that impersonates a service account gets its token", "[net]") {
  const bool by_others = GENERATE(false, true);
  const server service([](const scripted_request& asked) {
    if (asked.target == "/token")
      return reply{200, R"({"access_token": "of-me", "expires_in": 3600})"};
    return reply{200, R"({"accessToken": "of-it", "expireTime": "2040-01-02T03:04:05Z"})"};
  });
  google_home fixture(impersonating(
      service, by_others ? R"("delegates": ["projects/-/serviceAccounts/a", "b"], )" : ""));
  const auto said = fixture.ask();
  INFO(said.text());
  REQUIRE(said.keys);
  net::http_request request;
  said.keys->authorize(request, net::wall_clock::now());
  REQUIRE(request.headers.size() == 1);
  CHECK(request.headers[0].value == "Bearer of-it");
  const auto asked = service.requests();
  REQUIRE(asked.size() == 2);
  CHECK(asked[1].target == "/it:generateAccessToken");
  CHECK(asked[1].header("authorization") == "Bearer of-me");
  const mds::json::value body = mds::json::parse(asked[1].body);
  CHECK(body.get<mds::json::array>("scope").size() == 1);
  const mds::json::value* const delegates = body.find("delegates");
  REQUIRE((delegates != nullptr) == by_others);
  if (by_others)
    CHECK(*delegates == mds::json::value(mds::json::array{"projects/-/serviceAccounts/a", "b"}));
}

TEST_CASE("an account may not be impersonated: the error names the missing role", "[net]") {
  const server service([](const scripted_request& asked) {
    if (asked.target == "/token" || asked.target == "/sts")
      return reply{200, R"({"access_token": "hush", "expires_in": 3600})"};
    return reply{403, R"({"error": {"message": "hush"}})"};
  });
  const auto refused = [](const std::string& login, const char* role) {
    google_home fixture(login);
    const auto said = fixture.ask();
    INFO(said.text());
    CHECK(said.code == errc::permission_denied);
    CHECK(said.text().find("answers 403") != std::string::npos);
    CHECK(said.text().find(role) != std::string::npos);
    CHECK(said.text().find("hush") == std::string::npos);
  };
  refused(impersonating(service), "roles/iam.serviceAccountTokenCreator on it");
  refused(impersonating(service, R"("delegates": ["a"], )"), "each delegate on the next");
  const keys::home subject("");
  subject.write("subject", "hush");
  refused(R"({"type": "external_account", "audience": "a", "subject_token_type": "t", )"
          R"("credential_source": {"file": ")" +
              subject.path() + R"(/subject"}, "token_url": ")" + service.url() +
              R"(/sts", "service_account_impersonation_url": ")" + service.url() + "/me\"}",
          "roles/iam.workloadIdentityUser");
}

TEST_CASE("a login of Google's command line may lie in another directory", "[net]") {
  google_home fixture("{}");
  fixture.home.write("application_default_credentials.json", R"({"type": "hush"})");
  const auto said = fixture.ask(1, {{"CLOUDSDK_CONFIG", fixture.home.path()}});
  CHECK(said.code == errc::invalid_argument);
  INFO(said.text());
  CHECK(said.text().find(fixture.home.path() + "/application_default_credentials.json") !=
        std::string::npos);
}

}  // namespace google_access_test
