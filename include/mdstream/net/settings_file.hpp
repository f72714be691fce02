#pragma once

/// Files of settings and keys, as command lines and SDKs keep them in a home directory.

#include <mdstream/core/error.hpp>
#include <mdstream/net/environment.hpp>

#include <sys/stat.h>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::net {

/// Who is told of what is wrong but can be worked with.
using warning_function = std::function<void(const std::string&)>;

/// Writes `mdstream: warning: …` to standard error.
inline void warn_on_stderr(const std::string& text) {
  std::fputs(("mdstream: warning: " + text + '\n').c_str(), stderr);
}

namespace detail {

/// The text of a file; nothing where there is none that may be read, as AWS's tools have it. Throws
/// where it is larger than any settings are.
[[nodiscard]] inline std::optional<std::string> read_settings(const std::string& path) {
  constexpr std::size_t most = 1 << 20;
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text;
  char block[4096];
  while (in.read(block, sizeof block) || in.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(in.gcount()));
    if (text.size() > most) {
      throw error(errc::invalid_argument, {.what = "settings of more than 1 MiB", .url = path});
    }
  }
  return text;
}

/// `path` with a leading `~/` put into the home directory.
[[nodiscard]] inline std::string in_home(const environment& variables, std::string path) {
  if (!path.starts_with("~/")) return path;
  return variables("HOME").value_or("") + path.substr(1);
}

/// The text of a file of keys. One that everybody may read is told of and used nevertheless.
[[nodiscard]] inline std::optional<std::string> read_secret(const std::string& path,
                                                            const warning_function& warn) {
  struct stat about{};
  const bool open_to_all = ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
                           (about.st_mode & (S_IROTH | S_IWOTH)) != 0;
  if (open_to_all && warn) {
    warn(path + " holds keys and may be read by everybody: chmod 600 is what it should have");
  }
  return read_settings(path);
}

/// A token as it may be sent in a header: what files and services put around it taken off.
[[nodiscard]] inline std::string header_token(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(space) - begin + 1));
}

}  // namespace detail

}  // namespace mdstream::inline v0::net
