#pragma once

#include <mdstream/net/aws_key_texts.hpp>
#include <mdstream/net/aws_process.hpp>
#include <mdstream/net/detail/program.hpp>
#include <mdstream/version.hpp>

#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE process_aws_credentials::process_aws_credentials(runtime& threads,
                                                                 std::string command,
                                                                 std::string profile)
    : threads_(&threads),
      command_(std::move(command)),
      source_("the credential_process of the profile \"" + profile + '"') {}

MDSTREAM_INLINE void process_aws_credentials::async_find(std::stop_token stop, diagnostics& where,
                                                         aws_credentials_handler done) const {
  threads_->post([command = command_, source = source_, stop = std::move(stop), &where,
                  done = std::move(done)]() mutable {
    if (stop.stop_requested()) return done(errc::canceled, std::nullopt);
    std::error_code code;
    std::optional<aws_credentials> keys;
    try {
      keys = parse_aws_keys_json(output_of(command, source, stop), source);
    } catch (const error& e) {
      where = e.where();
      code = e.code();
    }
    done(code, std::move(keys));
  });
}

MDSTREAM_INLINE std::string process_aws_credentials::output_of(const std::string& command,
                                                               const std::string& source,
                                                               const std::stop_token& stop) {
  detail::program_result said = detail::run_program(
      {.words = {"/bin/sh", "-c", command}, .most_time = std::chrono::minutes(2)}, source, stop);
  if (said.status != 0) {
    throw detail::keys_refused(source, "it failed, with the status " + std::to_string(said.status));
  }
  return std::move(said.output);
}

}  // namespace mdstream::inline v0::net
