#pragma once

// A service that gives out keys, scripted, and a provider that is waited for.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <mdstream/async/detail/event.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/fetch.hpp>
#include <mdstream/net/time_text.hpp>
#include <optional>
#include <string>
#include <utility>

#include "net/keys.hpp"
#include "support/scripted_server.hpp"

namespace service {

namespace mds = mdstream;
namespace net = mdstream::net;
using support::scripted_request;

struct reply {
  int status = 200;
  std::string body{};
  std::string headers{};  ///< each with its line end
};

/// Answers what `script` says; every request is kept.
class server {
 public:
  explicit server(std::function<reply(const scripted_request&)> script)
      : web_([script = std::move(script)](auto& to, const scripted_request& asked) {
          const reply said = script(asked);
          to.answer(std::to_string(said.status) + " X", said.body, said.headers);
        }) {}
  [[nodiscard]] std::string url() const { return web_.url(); }
  [[nodiscard]] std::vector<scripted_request> requests() const { return web_.requests(); }

 private:
  support::scripted_server web_;
};

inline net::fetcher fetcher_for(mds::runtime& threads) {
  net::fetcher out = net::fetcher::near(threads, {});
  out.pause = std::chrono::milliseconds(1);
  return out;
}

/// What a provider answers in its time.
template <net::aws_credentials_provider P>
keys::answer ask(const P& provider) {
  keys::answer out;
  mds::detail::one_time_event answered;
  provider.async_find({}, out.where, [&](std::error_code code, auto found) {
    out.code = code;
    out.keys = std::move(found);
    answered.set();
  });
  answered.wait();
  return out;
}

/// What a provider of access of any kind ends with.
struct access_answer {
  std::error_code code{};
  std::optional<net::access> keys{};
  mds::diagnostics where{};

  [[nodiscard]] bool nobody() const { return !code && !keys; }
  [[nodiscard]] std::string text() const { return mds::error(code, where).what(); }
};

template <net::keys_provider<net::access> P>
access_answer ask_access(const P& provider) {
  access_answer out;
  mds::detail::one_time_event answered;
  provider.async_find({}, out.where, [&](std::error_code code, std::optional<net::access> found) {
    out.code = code;
    out.keys = std::move(found);
    answered.set();
  });
  answered.wait();
  return out;
}

/// The failure's text names all pieces and no secret.
inline void check_refused(const keys::answer& said, std::initializer_list<const char*> pieces) {
  const std::string text = said.text();
  INFO(text);
  CHECK(said.code == mds::errc::permission_denied);
  for (const char* piece : pieces) CHECK(text.find(piece) != std::string::npos);
  CHECK(text.find("hush") == std::string::npos);
}

/// Keys as services write them, as JSON.
inline std::string keys_json(const std::string& id, const std::string& more = "") {
  return R"({"Code": "Success", "AccessKeyId": ")" + id +
         R"(", "SecretAccessKey": "hush", "Token": "hush-token", "Expiration": "2040-01-02T03:04:05Z")" +
         more + "}";
}

/// The same from the Security Token Service.
inline std::string keys_xml(const std::string& action, const std::string& id) {
  return "<" + action + "Response xmlns=\"x\"><" + action +
         "Result><AssumedRoleUser/><Credentials>" + "<AccessKeyId>" + id +
         "</AccessKeyId><SecretAccessKey>hush</SecretAccessKey>" +
         "<SessionToken>hush-token</SessionToken><Expiration>2040-01-02T03:04:05Z</Expiration>" +
         "</Credentials></" + action + "Result><ResponseMetadata/></" + action + "Response>";
}

inline void check_keys(const keys::answer& said, const std::string& id, const std::string& source) {
  INFO(said.text());
  REQUIRE(said.keys);
  CHECK(said.keys->access_key_id == id);
  CHECK(said.keys->secret_access_key == "hush");
  CHECK(said.keys->session_token == "hush-token");
  CHECK(said.keys->expires == net::parse_iso_time("2040-01-02T03:04:05Z"));
  CHECK(said.keys->source.find(source) != std::string::npos);
}

/// What these services say the time is: their keys expire an hour later.
inline const char* const years_ahead = "Date: Mon, 02 Jan 2040 02:04:05 GMT\r\n";

inline void check_an_hour_left(const std::optional<net::wall_clock::time_point>& expires) {
  using namespace std::chrono_literals;
  REQUIRE(expires);
  const auto left = *expires - net::wall_clock::now();
  CHECK((left > 30min && left < 90min));
}

}  // namespace service
