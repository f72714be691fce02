#pragma once

/// Keys that a program prints.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/aws_key_texts.hpp>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::net {

/// `credential_process` of a profile: a command line for /bin/sh that prints keys as JSON. It runs
/// on the pool, and a program that does not end holds one of its threads. Its complaints go to
/// stderr.
class process_aws_credentials {
 public:
  process_aws_credentials(runtime& threads, std::string command, std::string profile)
      : threads_(&threads),
        command_(std::move(command)),
        source_("the credential_process of the profile \"" + profile + '"') {}

  void async_find(std::stop_token stop, diagnostics& where, aws_credentials_handler done) const {
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

 private:
  static std::string output_of(const std::string& command, const std::string& source) {
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

  runtime* threads_;
  std::string command_;
  std::string source_;
};

static_assert(aws_credentials_provider<process_aws_credentials>);

}  // namespace mdstream::inline v0::net
