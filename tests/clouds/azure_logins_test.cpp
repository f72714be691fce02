#include <mdstream/store/detail/azure/cli_cache.hpp>

#include <cerrno>
#include <chrono>
#include <map>
#include <string>

#include "net/keys.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace clouds_azure_logins_test {

namespace mds = mdstream;
namespace net = mds::net;
using mds::errc;
using mds::detail::azure::cli_cache;
using support::expect_error;

std::string account(const std::string& name, const std::string& tenant) {
  return '"' + name + R"(": {"home_account_id": "id-)" + name + R"(", "username": ")" + name +
         R"(@example", "realm": ")" + tenant + "\"}";
}

std::string token(const std::string& name, const std::string& tenant) {
  return '"' + name + R"(": {"home_account_id": "id-)" + name + R"(", "realm": ")" + tenant +
         R"(", "secret": "of-)" + name +
         R"(", "target": "https://storage.azure.com/.default", "expires_on": "5000"})";
}

std::string login(const std::string& name) {
  return '"' + name + R"(": {"home_account_id": "id-)" + name + R"(", "secret": "login-of-)" +
         name + R"(", "client_id": "cli"})";
}

/// Of one tenant each.
const std::string two_logins =
    R"({"Account": {)" + account("ann", "t1") + ", " + account("bob", "t2") +
    R"(}, "AccessToken": {)" + token("ann", "t1") + ", " + token("bob", "t2") +
    R"(}, "RefreshToken": {)" + login("ann") + ", " + login("bob") + "}}";

std::string subscription(const std::string& id, const std::string& tenant, const std::string& user,
                         bool is_default) {
  return R"({"id": ")" + id + R"(", "tenantId": ")" + tenant + R"(", "user": {"name": ")" + user +
         R"(@EXAMPLE", "type": "user"}, "isDefault": )" + (is_default ? "true}" : "false}");
}

struct logins {
  explicit logins(const std::string& cache, const std::string& profile = "") : home("") {
    home.write("msal_token_cache.json", cache);
    if (!profile.empty()) home.write("azureProfile.json", profile);
  }

  [[nodiscard]] cli_cache open(std::map<std::string, std::string> more = {}) const {
    more.emplace("AZURE_CONFIG_DIR", home.path());
    return cli_cache(home.with(std::move(more)), {});
  }
  /// The secrets of what is taken.
  [[nodiscard]] std::string taken(std::map<std::string, std::string> more = {}) const {
    const auto found = open(std::move(more)).token({});
    return found ? found->secrets.front() : "";
  }

  keys::home home;
};

TEST_CASE("of several logins of Azure's command line the default subscription's is taken",
          "[clouds]") {
  const logins both(two_logins, "\xEF\xBB\xBF{\"subscriptions\": [" +
                                    subscription("s1", "t1", "ann", false) + ", " +
                                    subscription("s2", "t2", "bob", true) + "]}");
  CHECK(both.taken() == "of-bob");
  CHECK(both.taken({{"AZURE_SUBSCRIPTION_ID", "s1"}}) == "of-ann");
  CHECK(both.taken({{"AZURE_TENANT_ID", "t1"}}) == "of-ann");
  const auto asked = both.open().question(both.home.with());
  REQUIRE((asked && asked->form));
  CHECK(asked->form->find("login-of-bob") != std::string::npos);
  CHECK(asked->url.find("/t2/") != std::string::npos);
}

TEST_CASE("logins of Azure's command line among which nothing chooses are told", "[clouds]") {
  const logins both(two_logins);
  expect_error([&] { (void)both.open(); }, errc::permission_denied,
               {"ann@example", "bob@example", "AZURE_TENANT_ID"});
  CHECK(both.taken({{"AZURE_TENANT_ID", "t2"}}) == "of-bob");
  const logins one(R"({"Account": {)" + account("ann", "t1") + R"(}, "AccessToken": {)" +
                   token("bob", "t1") + ", " + token("ann", "t1") + "}}");
  CHECK(one.taken() == "of-ann");
  const logins broken(two_logins, "{\n\"subscriptions\": hush");
  expect_error([&] { (void)broken.open(); }, errc::invalid_argument,
               {"line 2", "azureProfile.json"});
}

}  // namespace clouds_azure_logins_test
