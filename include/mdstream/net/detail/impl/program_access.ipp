#pragma once

#include <mdstream/core/json/value.hpp>
#include <mdstream/net/detail/program_access.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/net/web_token.hpp>
#include <mdstream/version.hpp>

#include <system_error>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE std::optional<program> azure_token_program(const environment& variables,
                                                           std::string_view resource) {
  const auto path = find_program("az", variables("PATH").value_or(""));
  if (!path) return std::nullopt;
  return program{.words = {*path, "account", "get-access-token", "--resource",
                           std::string(resource), "--output", "json"},
                 .variables = {{"AZURE_CORE_NO_COLOR", "true"}}};
}

MDSTREAM_INLINE access parse_printed_token(std::string_view text, const std::string& source,
                                           wall_clock::time_point now) {
  json::value said;
  try {
    said = json::parse(text);
  } catch (const error&) {  // it has no token then
  }
  const auto text_of = [&](const char* name) -> std::string {
    const json::value* const found = said.find(name);
    const bool is_text = found != nullptr && found->type() == json::kind::string;
    return is_text ? found->as<std::string>() : std::string();
  };
  std::string token = text_of("accessToken");
  if (token.empty()) token = text_of("access_token");
  if (token.empty()) {
    throw no_token(source, "what it prints is not JSON with \"accessToken\" or \"access_token\"");
  }
  std::optional<wall_clock::time_point> expires = parse_iso_time(text_of("expiry"));
  // Azure's; before version 2.54 it tells no more than `expiresOn`, a local time of no zone: the
  // token knows better.
  if (const auto at = seconds_of(said.find("expires_on"))) expires = time_of_seconds(*at);
  if (!expires) expires = web_token_expiry(token);
  return bearer_access(token_of_file(token, source), source,
                       expires.value_or(now + unsaid_lifetime));
}

MDSTREAM_INLINE std::optional<access> program_access::find(const std::stop_token& stop) const {
  const auto what = make_();
  if (!what) return std::nullopt;
  const program_result said = run_program(*what, source_, stop);
  if (said.status == 0) return parse_printed_token(said.output, source_, wall_clock::now());
  if (no_login_(said)) return std::nullopt;
  std::string command;
  for (const std::string& each : what->words) command += (command.empty() ? "" : " ") + each;
  throw no_token(source_, "it ends with status " + std::to_string(said.status) +
                              "; run it to see why: " + command);
}

MDSTREAM_INLINE void program_access::async_find(std::stop_token stop, diagnostics& where,
                                                access_handler done) const {
  threads_->post([self = *this, stop = std::move(stop), &where, done = std::move(done)]() mutable {
    std::error_code code;
    std::optional<access> found;
    try {
      found = self.find(stop);
    } catch (const error& e) {
      where = e.where();
      code = e.code();
    }
    done(code, std::move(found));
  });
}

}  // namespace mdstream::inline v0::net::detail
