#include <mdstream/net/aws_credentials.hpp>

#include <string>

#include "net/keys.hpp"
#include "support/catch.hpp"

namespace aws_credentials_test {

using namespace mdstream::net;
using keys::ask;
using keys::variables;
using mdstream::errc;

TEST_CASE("keys of the program, of nobody, of the environment", "[net][aws]") {
  const auto given = ask(explicit_aws_credentials({"AK", "SK", "T", {}, ""})).keys;
  REQUIRE(given);
  CHECK(given->access_key_id == "AK");
  CHECK(given->source == "the program");
  CHECK(ask(anonymous_aws_credentials()).keys->anonymous());

  const auto found = ask(environment_aws_credentials(variables({{"AWS_ACCESS_KEY_ID", "AK"},
                                                                {"AWS_SECRET_ACCESS_KEY", "SK"},
                                                                {"AWS_SESSION_TOKEN", "T"}})))
                         .keys;
  REQUIRE(found);
  CHECK(found->secret_access_key == "SK");
  CHECK(found->session_token == "T");
  CHECK(found->source.find("AWS_ACCESS_KEY_ID") != std::string::npos);
  CHECK_FALSE(ask(environment_aws_credentials(variables({}))).keys);
}

TEST_CASE("half a pair of keys is an error", "[net][aws]") {
  for (const char* one : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}) {
    const auto said = ask(environment_aws_credentials(variables({{one, "hush"}})));
    CHECK(said.code == errc::permission_denied);
    CHECK(said.text().find("AWS_SECRET_ACCESS_KEY") != std::string::npos);
    CHECK(said.text().find("hush") == std::string::npos);
  }
  const keys::home home("[default]\naws_secret_access_key = hush\n");
  const auto said = ask(profile_aws_credentials({}, home.with()));
  CHECK(said.code == errc::permission_denied);
  CHECK(said.text().find("\"default\"") != std::string::npos);
  CHECK(said.text().find("hush") == std::string::npos);
}

TEST_CASE("keys of a profile are read each time", "[net][aws]") {
  const keys::home home(
      "[default]\naws_access_key_id = A1\naws_secret_access_key = S1\n"
      "[x]\naws_access_key_id = A2\naws_secret_access_key = S2\naws_session_token = T2\n");
  const profile_aws_credentials plain({}, home.with());
  CHECK(ask(plain).keys->access_key_id == "A1");
  const auto named = ask(profile_aws_credentials("x", home.with())).keys;
  CHECK(named->access_key_id == "A2");
  CHECK(named->session_token == "T2");
  CHECK(named->source.find("\"x\"") != std::string::npos);
  home.write(".aws/credentials", "[default]\naws_access_key_id=A3\naws_secret_access_key=S3\n");
  CHECK(ask(plain).keys->secret_access_key == "S3");
  home.write(".aws/credentials", "");
  CHECK_FALSE(ask(plain).keys);
  const auto gone = ask(profile_aws_credentials("x", home.with()));
  CHECK(gone.code == errc::permission_denied);
  CHECK(gone.text().find("\"x\"") != std::string::npos);
}

}  // namespace aws_credentials_test
