// What a failed exchange is told as, by libcurl's words and with a real server that asks for
// certificates.

#include <mdstream/net/curl/failure.hpp>

#include <mdstream/net/http_client.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "net/http_calls.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"

namespace curl_failure_test {

namespace mds = mdstream;
namespace net = mdstream::net;
using mds::errc;
using net::detail::failure_of_curl;
using scratch_directory::scratch;

TEST_CASE("what is wrong with certificates passes by no waiting", "[net]") {
  for (const CURLcode each :
       {CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_CIPHER})
    CHECK(failure_of_curl(each, "", "/c.pem").code == errc::invalid_argument);
  for (const CURLcode each : {CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CLIENTCERT,
                              CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS})
    CHECK(failure_of_curl(each, "", "/c.pem").code == errc::permission_denied);
  CHECK(failure_of_curl(CURLE_SSL_CERTPROBLEM, "", "/c.pem").what.find("/c.pem") !=
        std::string::npos);
}

TEST_CASE("an alert about certificates is no broken connection, which its text shows", "[net]") {
  for (const char* text :
       {"OpenSSL/3.0.19: error:0A000418:SSL routines::tlsv1 alert unknown ca",
        "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0",
        "error:0A000412:SSL routines::sslv3 alert bad certificate",
        "error:0A000410:SSL routines::ssl/tls alert handshake failure",
        "GnuTLS, handshake failed: A TLS fatal alert has been received.: Certificate is bad"}) {
    INFO(text);
    for (const CURLcode each : {CURLE_SSL_CONNECT_ERROR, CURLE_RECV_ERROR, CURLE_SEND_ERROR}) {
      CHECK(failure_of_curl(each, text, "").code == errc::permission_denied);
      CHECK(failure_of_curl(each, text, "").what.find("client_certificate") != std::string::npos);
      CHECK(failure_of_curl(each, text, "/c.pem").what.find("/c.pem") != std::string::npos);
    }
    CHECK(failure_of_curl(CURLE_COULDNT_CONNECT, text, "").code == errc::unavailable);
  }
  for (const char* text :
       {"Recv failure: Connection reset by peer",
        "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to certificate.example:443",
        "error:0A000438:SSL routines::tlsv1 alert internal error"}) {
    INFO(text);
    for (const CURLcode each : {CURLE_SSL_CONNECT_ERROR, CURLE_RECV_ERROR})
      CHECK(failure_of_curl(each, text, "").code == errc::unavailable);
  }
}

// `openssl s_server`, which answers those alone who show the certificate `right`.
class strict_server {
 public:
  strict_server() {
    make_certificate("server");
    make_certificate("right");
    make_certificate("wrong");
    start();
  }
  strict_server(const strict_server&) = delete;
  strict_server& operator=(const strict_server&) = delete;
  ~strict_server() { end(); }

  [[nodiscard]] std::string url() const { return "https://localhost:" + std::to_string(port_); }
  [[nodiscard]] std::string file(const std::string& name) const { return files_ / name; }

 private:
  void make_certificate(const std::string& name) const {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
        "-subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout " +
        file(name + ".key") + " -out " + file(name + ".pem") + " 2>/dev/null";
    REQUIRE(std::system(command.c_str()) == 0);
  }

  // In TLS 1.2 the client sees the alert while it connects, whatever it sends. It listens on a port
  // that the kernel gives it, and says so.
  void start() {
    const std::string said = file("said");
    const std::string command = "exec openssl s_server -accept 127.0.0.1:0 -cert " +
                                file("server.pem") + " -key " + file("server.key") + " -CAfile " +
                                file("right.pem") +
                                " -Verify 1 -verify_return_error -tls1_2 -www >" + said + " 2>&1";
    process_ = ::fork();
    if (process_ == 0) {
      ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    for (int i = 0; i < 6000 && port_ == 0; ++i) {
      REQUIRE(::waitpid(process_, nullptr, WNOHANG) == 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      port_ = port_in(said);
    }
    REQUIRE(port_ != 0);
  }

  // Of the line `ACCEPT 127.0.0.1:PORT`, once it is whole; else 0.
  static unsigned port_in(const std::string& path) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line) && !in.eof();) {
      if (line.starts_with("ACCEPT "))
        return static_cast<unsigned>(std::stoul(line.substr(line.rfind(':') + 1)));
    }
    return 0;
  }

  void end() {
    if (process_ <= 0) return;
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }

  const scratch files_;
  unsigned port_ = 0;
  pid_t process_ = -1;
};

TEST_CASE("a client certificate that is missing, broken or refused fails at once", "[net]") {
  const strict_server server;
  mds::runtime threads(1);
  const auto ask = [&](const std::string& certificate, const std::string& key) {
    net::http_client_options options{.ca_file = server.file("server.pem"), .direct = true};
    if (!certificate.empty()) options.client_certificate = server.file(certificate);
    if (!key.empty()) options.client_key = server.file(key);
    return http_calls::send(net::http_client(threads, std::move(options)),
                            {.url = server.url() + "/"});
  };
  const auto right = ask("right.pem", "right.key");
  INFO(right.text());
  CHECK_FALSE(right.code);
  CHECK(right.answer.status == 200);

  const auto refused = [&](const std::string& certificate, const std::string& key, errc code,
                           const std::string& says) {
    const auto failure = ask(certificate, key);
    INFO(failure.text());
    CHECK(failure.code == code);
    CHECK(failure.text().find(says) != std::string::npos);
  };
  refused("", "", errc::permission_denied, "client_certificate");
  refused("wrong.pem", "wrong.key", errc::permission_denied, "wrong.pem");
  refused("absent.pem", "absent.key", errc::invalid_argument, "absent.pem");
  refused("right.pem", "wrong.key", errc::invalid_argument, "right.pem");
  refused("server.key", "right.key", errc::invalid_argument, "server.key");
}

}  // namespace curl_failure_test
