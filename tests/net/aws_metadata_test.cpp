#include <mdstream/net/aws_metadata.hpp>

#include <atomic>
#include <string>

#include "net/service.hpp"
#include "support/catch.hpp"

namespace aws_metadata_test {

using namespace service;
using keys::variables;

/// Version 2 of the metadata service: nothing without its token.
reply metadata(const scripted_request& asked) {
  const std::string root = "/latest/meta-data/iam/security-credentials/";
  if (asked.method == "PUT" && asked.target == "/latest/api/token") {
    return asked.header("x-aws-ec2-metadata-token-ttl-seconds").empty() ? reply{400}
                                                                        : reply{200, "to-ken="};
  }
  if (asked.header("x-aws-ec2-metadata-token") != "to-ken=") return {401};
  if (asked.target == root) return {200, "my role\nanother"};
  if (asked.target == root + "my%20role") return {200, keys_json("EC2")};
  return {404};
}

TEST_CASE("an EC2 instance gives its role's keys for a token", "[net][aws]") {
  mds::runtime threads(1);
  const server ec2(&metadata);
  const auto of = [&](const std::string& endpoint, const std::string& disabled = "") {
    return ask(net::instance_aws_credentials(
        fetcher_for(threads), variables({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", endpoint},
                                         {"AWS_EC2_METADATA_DISABLED", disabled}})));
  };
  check_keys(of(ec2.url() + "/"), "EC2", "EC2 instance");
  CHECK(ec2.requests().size() == 3);
  const auto disabled = of(ec2.url(), "true");
  CHECK((!disabled.code && !disabled.keys));
  const auto nowhere = of("http://127.0.0.1:1");
  CHECK((!nowhere.code && !nowhere.keys));
  const server without_role([](const scripted_request& asked) {
    return asked.method == "PUT" ? reply{200, "t"} : reply{404};
  });
  const auto none = of(without_role.url());
  CHECK((!none.code && !none.keys));
  const server broken([](const scripted_request& asked) {
    if (asked.method == "PUT") return reply{200, "t"};
    return asked.target.ends_with("/") ? reply{200, "r"} : reply{200, R"({"Code": "Failed"})"};
  });
  check_refused(of(broken.url()), {"EC2 instance"});
  for (const int status : {400, 401, 403, 404, 405, 501}) {  // another provider's service
    const server other([&](const scripted_request&) { return reply{status}; });
    const auto foreign = of(other.url());
    CHECK((!foreign.code && !foreign.keys));
    CHECK(other.requests().size() == 1);
  }
}

TEST_CASE("an EC2 instance's service that is busy is asked again, and its failure is returned",
          "[net][aws]") {
  mds::runtime threads(1);
  const auto of = [&](const server& ec2) {
    return ask(net::instance_aws_credentials(
        fetcher_for(threads), variables({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", ec2.url()}})));
  };
  for (const int status : {429, 503}) {
    INFO(status);
    std::atomic<int> left{1};
    const server hiccup([&](const scripted_request& asked) {
      return left-- > 0 ? reply{status} : metadata(asked);
    });
    check_keys(of(hiccup), "EC2", "EC2 instance");
    const server down([&](const scripted_request&) { return reply{status}; });
    const auto said = of(down);
    CHECK(said.code == mds::errc::unavailable);
    CHECK(said.text().find(std::to_string(status)) != std::string::npos);
    CHECK(down.requests().size() == 3);
  }
}

TEST_CASE("a lost packet does not make an EC2 instance another machine", "[net][aws]") {
  mds::runtime threads(1);
  std::atomic<int> lost{2};
  const support::scripted_server ec2([&](auto& to, const scripted_request& asked) {
    if (lost-- > 0) return to.close();
    const reply said = metadata(asked);
    to.answer(std::to_string(said.status) + " X", said.body);
  });
  check_keys(
      ask(net::instance_aws_credentials(
          fetcher_for(threads), variables({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", ec2.url()}}))),
      "EC2", "EC2 instance");
}

TEST_CASE("a container's service is asked with its token, and only where it may be", "[net][aws]") {
  mds::runtime threads(1);
  const keys::home home("");
  home.write("token", "hush-token\n");
  const server ecs([](const scripted_request& asked) {
    if (asked.target != "/role?x=1" || asked.header("authorization") != "hush-token")
      return reply{403};
    return reply{200, keys_json("ECS")};
  });
  const auto of = [&](std::map<std::string, std::string> values) {
    return ask(net::container_aws_credentials(fetcher_for(threads), variables(std::move(values))));
  };
  const std::string full = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
  check_keys(
      of({{full, ecs.url() + "/role?x=1"}, {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "hush-token"}}),
      "ECS", "container");
  check_keys(of({{full, ecs.url() + "/role?x=1"},
                 {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", home.path() + "/token"}}),
             "ECS", "container");
  CHECK_FALSE(of({}).keys);
  check_refused(of({{full, ecs.url() + "/role?x=1"}}), {"container", "403"});
  check_refused(of({{full, ecs.url() + "/role?x=1"},
                    {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", home.path() + "/none"}}),
                {"/none"});
  for (const char* url : {"http://example.com/role", "http://127.evil.com/", "ftp://127.0.0.1/"}) {
    check_refused(of({{full, url}}), {"https"});
  }
}

TEST_CASE("keys of a machine expire by the clock of who gave them", "[net][aws]") {
  mds::runtime threads(1);
  const server ecs(
      [](const scripted_request&) { return reply{200, keys_json("ECS"), years_ahead}; });
  const auto said = ask(net::container_aws_credentials(
      fetcher_for(threads), variables({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", ecs.url() + "/"}})));
  REQUIRE(said.keys);
  check_an_hour_left(said.keys->expires);
}

TEST_CASE("a path alone is asked of the address that ECS gives its agent", "[net][aws]") {
  mds::runtime threads(1);
  // Which is no address of this machine: a proxy sees who is asked.
  const server proxy([](const scripted_request&) { return reply{200, keys_json("ECS")}; });
  const net::fetcher through(threads, {.proxy = proxy.url()});
  check_keys(ask(net::container_aws_credentials(
                 through, variables({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/role"}}))),
             "ECS", "container");
  CHECK(proxy.requests().at(0).target == "http://169.254.170.2/v2/role");
}

}  // namespace aws_metadata_test
