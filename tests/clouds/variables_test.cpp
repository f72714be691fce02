// Environment variables of clouds that no other test sets (tests/docs_stores/variables.py says
// which those are).

#include <mdstream/store/hf.hpp>

#include <mdstream/store/detail/azure/keys.hpp>
#include <mdstream/store/operations.hpp>

#include <filesystem>
#include <string>

#include "net/keys.hpp"
#include "support/catch.hpp"
#include "support/scripted_server.hpp"

namespace clouds_variables_test {

namespace mds = mdstream;

TEST_CASE("an App Service is asked for the identity with its header", "[clouds]") {
  const auto asked = mds::detail::azure::machine_question(
      keys::variables({{"IDENTITY_ENDPOINT", "http://127.0.0.1:41/msi/token"},
                       {"IDENTITY_HEADER", "hush"},
                       {"AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:42"},
                       {"AZURE_CLIENT_ID", "me"}}));
  REQUIRE(asked);
  CHECK(asked->required);
  CHECK(asked->url ==
        "http://127.0.0.1:41/msi/token?api-version=2019-08-01"
        "&resource=https%3A%2F%2Fstorage.azure.com&client_id=me");
  REQUIRE(asked->headers.size() == 1);
  CHECK(asked->headers[0].name == "X-IDENTITY-HEADER");
  CHECK(asked->headers[0].value == "hush");
}

TEST_CASE("the login of huggingface-cli may lie in another directory", "[clouds]") {
  support::scripted_server server([](auto& out, const support::scripted_request&) {
    out.answer("200 OK", "abc", "X-Repo-Commit: c\r\n");
  });
  const keys::home home("");
  home.write("token", "of-the-login\n");
  std::filesystem::permissions(home.path() + "/token", std::filesystem::perms(0600));
  mds::runtime threads(1);
  const mds::store::hf store(
      threads, "hf://datasets/o/n",
      {{.endpoint = server.url(), .variables = keys::variables({{"HF_HOME", home.path()}})}});
  CHECK(mds::store_size(store, "x") == 3);
  CHECK(server.requests().back().header("authorization") == "Bearer of-the-login");
}

}  // namespace clouds_variables_test
