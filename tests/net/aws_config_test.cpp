#include <mdstream/core/bytes.hpp>
#include <mdstream/net/aws_config.hpp>

#include <sys/stat.h>
#include <cstring>
#include <string>
#include <vector>

#include "net/keys.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace aws_config_test {

using namespace mdstream::net;
using mdstream::errc;
using support::expect_error;

TEST_CASE("both files make one profile, the credentials' settings count", "[net][aws]") {
  const keys::home home(
      "[default]\nregion = from-credentials\n[x]\naws_access_key_id = AK\n",
      "[default]\nregion = from-config\noutput = json\n[profile x]\n"
      "region = eu\n[sso-session s]\nsso_region = us\n[services y]\ns3 =\n a = b\n"
      "[x]\nregion = not-a-profile-in-a-config\n");
  const aws_config plain = load_aws_config(home.with());
  CHECK(plain.profile == "default");
  CHECK_FALSE(plain.profile_chosen);
  CHECK(plain.get("region") == "from-credentials");
  CHECK(plain.get("output") == "json");
  CHECK(plain.sso_sessions.at("s").at("sso_region") == "us");
  CHECK(plain.profiles.size() == 2);
  const aws_config named = load_aws_config(home.with({{"AWS_PROFILE", "x"}}));
  CHECK(named.get("region") == "eu");
  CHECK(named.get("aws_access_key_id") == "AK");
  CHECK(load_aws_config(home.with({{"AWS_DEFAULT_PROFILE", "x"}})).get("region") == "eu");
  CHECK(load_aws_config(home.with({{"AWS_PROFILE", "y"}}), "x").get("region") == "eu");
}

TEST_CASE("names with blanks may be in quotes", "[net][aws]") {
  const keys::home home("[my team]\naws_access_key_id = AK\n",
                        "[profile \"my team\"]\nregion = eu\n[profile 'a b']\nregion = us\n"
                        "[profile \"]\nregion = x\n[sso-session \"our login\"]\nsso_region = us\n");
  const aws_config team = load_aws_config(home.with({{"AWS_PROFILE", "my team"}}));
  CHECK(team.get("region") == "eu");
  CHECK(team.get("aws_access_key_id") == "AK");  // the credentials' names have no quotes
  CHECK(team.sso_sessions.contains("our login"));
  CHECK(load_aws_config(home.with(), "a b").get("region") == "us");
  CHECK(load_aws_config(home.with(), "\"").get("region") == "x");
}

TEST_CASE("the files may lie elsewhere, or nowhere", "[net][aws]") {
  const keys::home home("");
  CHECK(load_aws_config(home.with()).active() == nullptr);
  home.write("mine", "[default]\nregion = here\n");
  CHECK(load_aws_config(home.with({{"AWS_SHARED_CREDENTIALS_FILE", home.path() + "/mine"}}))
            .get("region") == "here");
  CHECK(load_aws_config(home.with({{"AWS_CONFIG_FILE", "~/mine"}})).get("region") == "here");
}

TEST_CASE("credentials that everybody may read are used, with a warning", "[net][aws]") {
  const keys::home home("[default]\nregion = r\n");
  std::vector<std::string> warnings;
  const auto load = [&](unsigned mode) {
    REQUIRE(::chmod((home.path() + "/.aws/credentials").c_str(), mode) == 0);
    warnings.clear();
    return load_aws_config(home.with(), "",
                           [&](const std::string& text) { warnings.push_back(text); });
  };
  CHECK(load(0604).get("region") == "r");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find(home.path() + "/.aws/credentials") != std::string::npos);
  CHECK(load(0600).get("region") == "r");
  CHECK(warnings.empty());
  home.write(".aws/config",
             "[default]\noutput = json\n");  // everybody may: there are no keys in it
  (void)load(0600);
  CHECK(warnings.empty());
  home.write(".aws/config", "[profile x]\naws_secret_access_key = hush\n");
  REQUIRE(::chmod((home.path() + "/.aws/config").c_str(), 0644) == 0);
  (void)load(0600);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find(home.path() + "/.aws/config") != std::string::npos);
}

TEST_CASE("a profile that is asked for has to be there", "[net][aws]") {
  const keys::home home("[default]\nregion = r\n");
  expect_error([&] { (void)load_aws_config(home.with(), "nowhere"); }, errc::invalid_argument,
               {"\"nowhere\"", "/.aws/config", "/.aws/credentials"});
  expect_error([&] { (void)load_aws_config(home.with({{"AWS_PROFILE", "gone"}})); },
               errc::invalid_argument, {"\"gone\""});
}

TEST_CASE("files that are no settings are refused", "[net][aws]") {
  const keys::home home("[default]\nrubbish\n");
  expect_error([&] { (void)load_aws_config(home.with()); }, errc::invalid_argument,
               {".aws/credentials", "line 2"});
  home.write(".aws/credentials", std::string((1 << 20) + 1, '#'));
  expect_error([&] { (void)load_aws_config(home.with()); }, errc::invalid_argument, {"1 MiB"});
}

}  // namespace aws_config_test
