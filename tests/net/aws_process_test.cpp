#include <mdstream/net/aws_process.hpp>

#include <string>

#include "net/service.hpp"
#include "support/catch.hpp"

namespace aws_process_test {

using namespace service;

TEST_CASE("a program prints keys, or it is refused", "[net][aws]") {
  mds::runtime threads(1);
  const auto of = [&](const std::string& command) {
    return ask(net::process_aws_credentials(threads, command, "p"));
  };
  check_keys(of("printf '%s' '" + keys_json("PROC") + "'"), "PROC", "\"p\"");
  check_refused(of("echo hush; echo hush >&2; exit 3"),
                {"credential_process", "\"p\"", "failed", "status 3"});
  check_refused(of("echo hush"), {"JSON"});
  check_refused(of("yes hush"), {"64 KiB"});
  check_refused(of("/nonexistent/program 2>/dev/null"), {"failed"});
}

}  // namespace aws_process_test
