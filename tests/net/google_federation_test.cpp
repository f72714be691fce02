// Workloads with tokens of other providers, against scripted services: what each is asked, and what
// their answers may not bring about.

#include <mdstream/core/detail/hex.hpp>
#include <mdstream/net/detail/google_subject.hpp>
#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/net/google_access.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/signature_v4.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "net/service.hpp"
#include "support/catch.hpp"

namespace google_federation_test {

using namespace service;
using mds::errc;
namespace fs = std::filesystem;

std::map<std::string, std::string> form_of(const std::string& body) {
  std::map<std::string, std::string> out;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = std::min(body.find('&', at), body.size()), equals = body.find('=', at);
    out[net::percent_decode(body.substr(at, equals - at)).value()] =
        net::percent_decode(body.substr(equals + 1, end - equals - 1)).value();
    at = end + 1;
  }
  return out;
}

/// A home with the file of a federated workload, and the service that exchanges its tokens.
struct workload {
  explicit workload(const std::string& source, const std::string& more = "",
                    std::function<reply(const scripted_request&)> machine = {})
      : home(""), services([machine = std::move(machine)](const scripted_request& asked) {
          if (asked.target == "/sts")
            return reply{200, R"({"access_token": "of-google", "expires_in": 3600})"};
          if (asked.target.ends_with(":generateAccessToken"))
            return reply{200, R"({"accessToken": "of-it", "expireTime": "2040-01-02T03:04:05Z"})"};
          return machine ? machine(asked) : reply{404, "hush"};
        }) {
    std::string text =
        R"({"type": "external_account", "audience": "//iam/pool", "subject_token_type": "kind", )"
        R"("token_url": "HERE/sts", )" +
        more + R"("credential_source": )" + source + "}";
    for (const auto& [name, value] :
         {std::pair<std::string, std::string>("HERE", services.url()), {"HOME", home.path()}}) {
      for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;)
        text.replace(at, name.size(), value);
    }
    home.write("workload.json", text);
    fs::permissions(fs::path(home.path()) / "workload.json", fs::perms(0600));
  }

  access_answer ask(std::map<std::string, std::string> more = {}) {
    more.emplace("GOOGLE_APPLICATION_CREDENTIALS", home.path() + "/workload.json");
    more.emplace("PATH", "/usr/bin:/bin");
    return ask_access(net::default_google_access(threads, {}, home.with(std::move(more)), {}));
  }
  /// The token that was exchanged, of the last request for one.
  [[nodiscard]] std::string exchanged() const {
    std::string out;
    for (const auto& each : services.requests())
      if (each.target == "/sts") out = form_of(each.body)["subject_token"];
    return out;
  }
  void check_refused(const access_answer& said, std::initializer_list<const char*> pieces) const {
    INFO(said.text());
    CHECK(said.code == errc::permission_denied);
    for (const char* each : pieces) CHECK(said.text().find(each) != std::string::npos);
    CHECK(said.text().find("hush") == std::string::npos);
    CHECK(exchanged().empty());
  }

  mds::runtime threads{1};
  keys::home home;
  server services;
};

const std::string on_aws =
    R"({"environment_id": "aws1", "region_url": "HERE/zone", "url": "HERE/roles", )"
    R"("imdsv2_session_token_url": "HERE/session", "regional_cred_verification_url": )"
    R"("https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"})";

reply aws_machine(const scripted_request& asked) {
  if (asked.target == "/session" && asked.method == "PUT" &&
      asked.header("x-aws-ec2-metadata-token-ttl-seconds") == "300")
    return {200, "of-the-session"};
  if (asked.header("x-aws-ec2-metadata-token") != "of-the-session") return {401, "hush"};
  if (asked.target == "/zone") return {200, "us-east-2b"};
  if (asked.target == "/roles") return {200, "a role\nanother"};
  if (asked.target == "/roles/a%20role") return {200, keys_json("AKID")};
  return {404, "hush"};
}

/// The header of a signed request that stands in a token for AWS.
std::string header_of(const mds::json::value& request, const std::string& name) {
  for (const mds::json::value& each : request.get<mds::json::array>("headers"))
    if (each.get<std::string>("key") == name) return each.get<std::string>("value");
  return "";
}

void check_signed(const std::string& subject, const net::aws_credentials& of, const char* region) {
  const mds::json::value asked = mds::json::parse(net::percent_decode(subject).value());
  const std::string host = "sts." + std::string(region) + ".amazonaws.com";
  CHECK(asked.get<std::string>("method") == "POST");
  CHECK(asked.get<std::string>("url") ==
        "https://" + host + "?Action=GetCallerIdentity&Version=2011-06-15");
  CHECK(header_of(asked, "host") == host);
  CHECK(header_of(asked, "x-goog-cloud-target-resource") == "//iam/pool");
  CHECK(header_of(asked, "x-amz-security-token") == of.session_token);
  CHECK(header_of(asked, "x-amz-content-sha256").empty());
  // Signed once more from the names that it says were signed.
  const std::string date = header_of(asked, "x-amz-date"), said = header_of(asked, "Authorization");
  net::v4_request again{
      .method = "POST",
      .host = host,
      .query = {{"Action", "GetCallerIdentity"}, {"Version", "2011-06-15"}},
      .headers = {{"x-amz-date", date}, {"x-goog-cloud-target-resource", "//iam/pool"}},
      .payload_hash = std::string(net::empty_payload)};
  std::string names = "host;x-amz-date;";
  if (!of.session_token.empty()) {
    again.headers.emplace_back("x-amz-security-token", of.session_token);
    names += "x-amz-security-token;";
  }
  const net::v4_signing_key key(of, net::wall_clock::now(), region, "sts");
  CHECK(said == "AWS4-HMAC-SHA256 Credential=" + of.access_key_id + '/' + key.scope() +
                    ", SignedHeaders=" + names +
                    "x-goog-cloud-target-resource, Signature=" + key.sign(date, again));
}

TEST_CASE("a workload on AWS signs a request for who it is by the role of its machine", "[net]") {
  workload fixture(on_aws, "", aws_machine);
  const auto said = fixture.ask();
  INFO(said.text());
  REQUIRE(said.keys);
  const auto asked = fixture.services.requests();
  std::vector<std::string> order;
  for (const auto& each : asked) order.push_back(each.method + ' ' + each.target);
  CHECK(order == std::vector<std::string>{"PUT /session", "GET /zone", "GET /roles",
                                          "GET /roles/a%20role", "POST /sts"});
  const auto form = form_of(asked.back().body);
  CHECK(form == std::map<std::string, std::string>{
                    {"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                    {"audience", "//iam/pool"},
                    {"scope", "https://www.googleapis.com/auth/devstorage.read_write"},
                    {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
                    {"subject_token_type", "kind"},
                    {"subject_token", form.at("subject_token")}});
  check_signed(
      form.at("subject_token"),
      {.access_key_id = "AKID", .secret_access_key = "hush", .session_token = "hush-token"},
      "us-east-2");
}

TEST_CASE("a workload on AWS with keys and region in its variables asks no machine", "[net]") {
  workload fixture(on_aws);
  const auto said = fixture.ask({{"AWS_DEFAULT_REGION", "eu-west-1"},
                                 {"AWS_ACCESS_KEY_ID", "AKID"},
                                 {"AWS_SECRET_ACCESS_KEY", "hush"}});
  INFO(said.text());
  REQUIRE(said.keys);
  CHECK(fixture.services.requests().size() == 1);
  check_signed(fixture.exchanged(), {.access_key_id = "AKID", .secret_access_key = "hush"},
               "eu-west-1");
}

TEST_CASE("a zone that is none does not become the host of a signed request", "[net]") {
  workload fixture(on_aws, "", [](const scripted_request& asked) {
    return asked.target == "/zone" ? reply{200, "hush.example/x"} : aws_machine(asked);
  });
  fixture.check_refused(fixture.ask(), {"region"});
}

TEST_CASE("errors say in words that an answer of AWS's metadata is cut or a refusal", "[net]") {
  const auto refused = [](const std::string& target, const reply& answer, const char* why) {
    INFO(target);
    workload fixture(on_aws, "", [&](const scripted_request& asked) {
      return asked.target == target ? answer : aws_machine(asked);
    });
    fixture.check_refused(fixture.ask(), {why});
  };
  refused("/session", {403, "hush"}, "no session: it answers 403");
  refused("/zone", {404, "hush"}, "the region (AWS_REGION): it answers 404");
  refused("/zone", {200, ""}, "region");
  refused("/roles", {404, "hush"}, "the role (AWS_ACCESS_KEY_ID): it answers 404");
  refused("/roles/a%20role", {200, R"({"AccessKeyId": "hush", "Secr)"}, "JSON");
  refused("/roles/a%20role", {200, R"({"AccessKeyId": "hush"})"}, "the external_account of ");
}

TEST_CASE("a redirect of a metadata service is not followed", "[net]") {
  const server elsewhere([](const scripted_request&) { return reply{200, "us-east-2b"}; });
  workload fixture(on_aws, "", [&](const scripted_request& asked) {
    return asked.target == "/zone" ? reply{302, "", "Location: " + elsewhere.url() + "/zone\r\n"}
                                   : aws_machine(asked);
  });
  fixture.check_refused(fixture.ask(), {"302"});
  CHECK(elsewhere.requests().empty());
}

/// A program in the workload's home that prints `text`.
void write_program(const workload& in, const std::string& script) {
  in.home.write("program", "#!/bin/sh\n" + script + "\n");
  fs::permissions(fs::path(in.home.path()) / "program", fs::perms(0700));
}

const std::string jwt = R"("token_type": "urn:ietf:params:oauth:token-type:jwt")";

std::string printing(const std::string& json) { return "printf '%s' '" + json + "'"; }

const std::map<std::string, std::string> allowed{
    {"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1"}};

TEST_CASE("a program gives a workload's token where that is allowed", "[net]") {
  workload fixture(R"({"executable": {"command": "HOME/program  --of me"}})",
                   R"("service_account_impersonation_url": )"
                   R"("HERE/v1/projects/-/serviceAccounts/me@project:generateAccessToken", )");
  write_program(fixture,
                R"(printf '{"version": 1, "success": true, "token_type": )"
                R"("urn:ietf:params:oauth:token-type:id_token", "id_token": "%s"}' )"
                R"("$*,$GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE,$GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE)"
                R"(,$GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE)"
                R"(,$GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL")");
  fixture.check_refused(fixture.ask(),
                        {"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1", "workload.json"});
  fixture.check_refused(fixture.ask({{"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "true"}}),
                        {"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1"});
  const auto said = fixture.ask(allowed);
  INFO(said.text());
  REQUIRE(said.keys);
  CHECK(fixture.exchanged() == "--of me,//iam/pool,kind,0,me@project");
  const auto asked = fixture.services.requests();
  CHECK(asked.back().header("authorization") == "Bearer of-google");
  CHECK(form_of(asked.front().body)["scope"] == "https://www.googleapis.com/auth/cloud-platform");
}

TEST_CASE("what a program gives that is no token is refused without its words", "[net]") {
  const auto refused = [](const std::string& script, const char* why) {
    INFO(script);
    workload fixture(R"({"executable": {"command": "HOME/program"}})");
    write_program(fixture, script);
    fixture.check_refused(fixture.ask(allowed), {why});
  };
  refused("echo hush; echo hush >&2; exit 7", "status 7");
  refused("echo hush", "JSON");
  refused(printing(R"({"version": 1, "success": true, "hush)"), "JSON");
  refused(printing(R"({"version": 2, "success": true, )" + jwt + R"(, "id_token": "hush"})"),
          "version 1");
  refused(printing(R"({"version": 1, "success": false, "code": "hush", "message": "hush"})"),
          "failed");
  refused(printing(R"({"version": 1, "success": true, "token_type": "hush", "id_token": "hush"})"),
          "token_type");
  refused(printing(R"({"version": 1, "success": true, )" + jwt + R"(, "saml_response": "hush"})"),
          "no token");
  refused(printing(R"({"version": 1, "success": true, )" + jwt +
                   R"(, "id_token": "hush", "expiration_time": 1000})"),
          "expired");
  refused("kill -9 $$", "status 137");
  workload none(R"({"executable": {"command": "HOME/hush"}})");
  none.check_refused(none.ask(allowed), {"is not there"});
}

TEST_CASE("a program's answer is kept in its file while it is good", "[net]") {
  workload fixture(R"({"executable": {"command": "HOME/program", "output_file": "HOME/kept"}})");
  const auto answer = [](const std::string& token, const std::string& more) {
    return R"({"version": 1, "success": true, )" + jwt + R"(, "id_token": ")" + token + '"' + more +
           "}";
  };
  write_program(fixture, printing(answer("of-the-program", "")));
  const auto taken = [&](const std::string& kept) {
    if (!kept.empty()) fixture.home.write("kept", kept);
    const auto said = fixture.ask(allowed);
    INFO(said.text());
    CHECK(said.keys);
    return fixture.exchanged();
  };
  CHECK(taken("") == "of-the-program");
  CHECK(taken(answer("kept", R"(, "expiration_time": 4000000000)")) == "kept");
  CHECK(taken(answer("old", R"(, "expiration_time": 1000)")) == "of-the-program");
  CHECK(taken(answer("for-ever", "")) == "of-the-program");  // it has no end
  CHECK(taken(R"({"version": 1, "success": false})") == "of-the-program");
  CHECK(taken("{\"version") == "of-the-program");
  // A program that prints nothing has written its file.
  write_program(fixture,
                "cp " + fixture.home.path() + "/next \"$GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE\"");
  fixture.home.write("next", answer("written", R"(, "expiration_time": 4000000000)"));
  CHECK(taken("{}") == "written");
}

TEST_CASE("the project of a file pays for requests that name no other", "[net]") {
  workload fixture(R"({"file": "HOME/subject"})", R"("quota_project_id": "example.com:payer-1", )");
  fixture.home.write("subject", "of-me\n");
  const auto said = fixture.ask();
  INFO(said.text());
  REQUIRE(said.keys);
  CHECK(fixture.exchanged() == "of-me");
  CHECK(said.keys->source.find("example.com:payer-1") != std::string::npos);
  const auto billed = [&](const std::string& url) {
    net::http_request request{.url = url};
    said.keys->authorize(request, net::wall_clock::now());
    std::string payer, token;
    for (const auto& each : request.headers) {
      if (each.name == "X-Goog-User-Project") payer = each.value;
      if (each.name == "Authorization") token = each.value;
    }
    CHECK(token == "Bearer of-google");
    return payer;
  };
  CHECK(billed("https://h/o?alt=media") == "example.com:payer-1");
  CHECK(billed("https://h/o?alt=media&userProject=other").empty());
}

TEST_CASE("users of a workforce pool name the project that asks", "[net]") {
  workload fixture(R"({"file": "HOME/subject"})", R"("workforce_pool_user_project": "p1", )");
  fixture.home.write("subject", "of-me");
  REQUIRE(fixture.ask().keys);
  CHECK(form_of(fixture.services.requests().at(0).body)["options"] == R"({"userProject": "p1"})");
}

TEST_CASE("tokens are not exchanged over http with another machine", "[net]") {
  workload fixture(R"({"file": "HOME/subject"})");
  fixture.home.write("subject", "hush");
  fixture.home.write("workload.json",
                     R"({"type": "external_account", "audience": "a", "subject_token_type": "t", )"
                     R"("token_url": "http://192.0.2.1/sts", "credential_source": {"file": ")" +
                         fixture.home.path() + R"(/subject"}})");
  fixture.check_refused(fixture.ask(), {"192.0.2.1", "https"});
}

TEST_CASE("a workload's tokens and keys are not asked for over http at another machine", "[net]") {
  workload by_url(R"({"url": "http://192.0.2.1/subject", "headers": {"Authorization": "hush"}})");
  by_url.check_refused(by_url.ask(), {"192.0.2.1", "https"});
  workload by_machine(
      R"({"environment_id": "aws1", "region_url": "http://192.0.2.1/zone", "url": "HERE/roles", )"
      R"("regional_cred_verification_url": "https://sts.{region}.amazonaws.com"})");
  by_machine.check_refused(by_machine.ask(), {"192.0.2.1", "https"});
  // Addresses of metadata services have no https.
  CHECK(net::detail::is_link_local("169.254.169.254"));
  CHECK(net::detail::is_link_local("[fd00:ec2::254]"));
  CHECK_FALSE(net::detail::is_link_local("169.255.0.1"));
  CHECK_FALSE(net::detail::is_link_local("169.254.169.254.example"));
}

TEST_CASE("a workload's token is asked for by the headers that its file has", "[net]") {
  const auto answers = [](const std::string& body) {
    return [body](const scripted_request& asked) {
      const bool right = asked.target == "/subject" && asked.header("metadata") == "True";
      return right ? reply{200, body} : reply{400, "hush"};
    };
  };
  const std::string source =
      R"({"url": "HERE/subject", "headers": {"Metadata": "True"}, "format": {"type": "json", )"
      R"("subject_token_field_name": "it"}})";
  workload fixture(source, "", answers(R"({"it": "of-azure"})"));
  REQUIRE(fixture.ask().keys);
  CHECK(fixture.exchanged() == "of-azure");
  for (const char* const none : {R"({"other": "hush"})", R"({"it": ""})"}) {
    INFO(none);
    workload other(source, "", answers(none));
    other.check_refused(other.ask(), {"the source of its token has none"});
  }
}

}  // namespace google_federation_test
