#pragma once

/// Keys that a program prints.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/aws_credentials.hpp>

#include <stop_token>
#include <string>

namespace mdstream::inline v0::net {

/// `credential_process` of a profile: a command line for /bin/sh that prints keys as JSON. It runs
/// on the pool, where it holds a thread for two minutes at most. It reads nothing, and what it
/// prints is in no message.
class process_aws_credentials {
 public:
  process_aws_credentials(runtime& threads, std::string command, std::string profile);

  void async_find(std::stop_token stop, diagnostics& where, aws_credentials_handler done) const;

 private:
  static std::string output_of(const std::string& command, const std::string& source,
                               const std::stop_token& stop);

  runtime* threads_;
  std::string command_;
  std::string source_;
};

static_assert(aws_credentials_provider<process_aws_credentials>);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/aws_process.ipp>
#endif
