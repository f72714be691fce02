#pragma once

#include <mdstream/core/detail/descriptors.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/version.hpp>

#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE std::optional<std::string> read_settings(const std::string& path) {
  constexpr std::size_t most = 1 << 20;
  std::ifstream in(path, std::ios::binary);
  if (!in && mdstream::detail::lacks_descriptors(errno))
    throw system_failure(errno, "cannot open", path);
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

MDSTREAM_INLINE std::string in_home(const environment& variables, std::string path) {
  if (!path.starts_with("~/")) return path;
  return variables("HOME").value_or("") + path.substr(1);
}

MDSTREAM_INLINE void warn_of_open_file(const std::string& path, const warning_function& warn) {
  struct stat about{};
  const bool open_to_all = ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
                           (about.st_mode & (S_IROTH | S_IWOTH)) != 0;
  if (open_to_all && warn) {
    warn(path +
         " holds credentials and may be read by everybody: chmod 600 is what it should have");
  }
}

MDSTREAM_INLINE warning_function each_once(warning_function warn) {
  if (!warn) return warn;
  struct told {
    std::mutex mutex{};
    std::set<std::string> texts{};
  };
  return [warn = std::move(warn), before = std::make_shared<told>()](const std::string& text) {
    {
      const std::lock_guard lock(before->mutex);
      if (!before->texts.insert(text).second) return;
    }
    warn(text);
  };
}

MDSTREAM_INLINE std::optional<std::string> read_secret(const std::string& path,
                                                       const warning_function& warn) {
  warn_of_open_file(path, warn);
  return read_settings(path);
}

MDSTREAM_INLINE std::string header_token(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(space) - begin + 1));
}

MDSTREAM_INLINE std::size_t line_of(std::string_view text, std::uint64_t byte) {
  const std::string_view before = text.substr(0, static_cast<std::size_t>(byte));
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

/// Throws `errc::invalid_argument`, naming file and line and quoting nothing: it may hold a secret.
[[noreturn]] MDSTREAM_INLINE void refuse_line(const std::string& file, std::size_t line,
                                              const std::string& why) {
  throw error(errc::invalid_argument,
              {.what = "line " + std::to_string(line) + " is not understood: " + why, .url = file});
}

MDSTREAM_INLINE json::value parse_json_file(std::string_view text, const std::string& file) {
  try {
    return json::parse(text);
  } catch (const error& e) {
    refuse_line(file, line_of(text, e.where().byte.value_or(0)), e.where().what);
  }
}

MDSTREAM_INLINE std::string token_of_file(std::string_view text, const std::string& file) {
  std::string token = header_token(text);
  if (token.empty()) refuse_line(file, 1, "there is no token");
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  const auto odd = std::ranges::find_if_not(token, printable);
  if (odd == token.end()) return token;
  const auto behind = std::find_if(odd, token.end(), printable);  // a second word, in its line
  const std::size_t at = text.find(token) + static_cast<std::size_t>(behind - token.begin());
  refuse_line(file, line_of(text, at), "a token is one word of printable ASCII");
}

}  // namespace mdstream::inline v0::net::detail
