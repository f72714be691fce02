#pragma once

/// Programs that give out credentials.

#include <mdstream/core/error.hpp>

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::net::detail {

/// A program and how it runs. It reads nothing, and gets this process's variables but none of its
/// descriptors and none of its signal handling.
struct program {
  std::vector<std::string> words{};  ///< the program's path and its arguments; no shell reads them
  std::vector<std::pair<std::string, std::string>> variables{};  ///< beside this process's
  std::chrono::milliseconds most_time = std::chrono::seconds(30);
};

/// What a program left. Both texts may hold secrets: no message quotes them.
struct program_result {
  int status = 0;        ///< of its exit; 128 and the signal that ended it
  std::string output{};  ///< of stdout
  std::string errors{};  ///< of stderr, its first 64 KiB
};

/// The path of a program: `name` itself if it has a slash, else where the directories of `path`
/// (PATH) have it. Nothing if there is none; a directory that is not absolute is not looked at.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name,
                                                      std::string_view path);

/// Runs a program to its end; the calling thread waits. One that is not done in `most_time`, or at
/// a stop, is killed, with what it started. Throws `errc::permission_denied`, naming `source`, if
/// it does not start, does not end in time, or prints more than 64 KiB; `errc::canceled` at a stop.
[[nodiscard]] program_result run_program(const program& what, const std::string& source,
                                         const std::stop_token& stop);

}  // namespace mdstream::inline v0::net::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/program.ipp>
#endif
