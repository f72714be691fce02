#pragma once

#include <mdstream/net/aws_key_texts.hpp>
#include <mdstream/net/aws_process.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <cstdio>
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
      keys = parse_aws_keys_json(output_of(command, source), source);
    } catch (const error& e) {
      where = e.where();
      code = e.code();
    }
    done(code, std::move(keys));
  });
}

MDSTREAM_INLINE std::string process_aws_credentials::output_of(const std::string& command,
                                                               const std::string& source) {
  constexpr std::size_t most = 64 * 1024;
  std::FILE* const program = ::popen(command.c_str(), "re");
  if (program == nullptr) throw detail::keys_refused(source, "it can not be started");
  std::string text;
  char block[4096];
  for (std::size_t got = 0;
       text.size() <= most && (got = std::fread(block, 1, sizeof block, program)) > 0;) {
    text.append(block, got);
  }
  const int status = ::pclose(program);
  if (text.size() > most) throw detail::keys_refused(source, "it prints more than 64 KiB");
  if (status != 0) throw detail::keys_refused(source, "it failed");
  return text;
}

}  // namespace mdstream::inline v0::net
