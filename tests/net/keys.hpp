#pragma once

// What the tests of credentials share: variables and files of their own, and an answer at once.

#include <filesystem>
#include <fstream>
#include <map>
#include <mdstream/net/aws_credentials.hpp>
#include <optional>
#include <random>
#include <string>
#include <system_error>

#include "support/catch.hpp"

namespace keys {

namespace net = mdstream::net;

inline net::environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto at = values.find(name);
    if (at == values.end() || at->second.empty()) return std::nullopt;
    return at->second;
  };
}

struct answer {
  std::error_code code;
  std::optional<net::aws_credentials> keys;
  mdstream::diagnostics where;

  [[nodiscard]] std::string text() const { return mdstream::error(code, where).what(); }
};

/// What a provider answers that does not wait.
template <net::aws_credentials_provider P>
answer ask(const P& provider) {
  answer out;
  bool answered = false;
  provider.async_find({}, out.where, [&](std::error_code code, auto found) {
    out.code = code;
    out.keys = std::move(found);
    answered = true;
  });
  REQUIRE(answered);
  return out;
}

/// A home directory with AWS's two files.
class home {
 public:
  explicit home(const std::string& credentials, const std::string& config = "")
      : path_(std::filesystem::temp_directory_path() /
              ("mdstream-keys-" + std::to_string(std::random_device()()))) {
    std::filesystem::create_directories(path_ / ".aws");
    if (!credentials.empty()) write(".aws/credentials", credentials);
    if (!config.empty()) write(".aws/config", config);
  }
  home(const home&) = delete;
  home& operator=(const home&) = delete;
  ~home() { std::filesystem::remove_all(path_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

  [[nodiscard]] net::environment with(std::map<std::string, std::string> more = {}) const {
    more.emplace("HOME", path());
    return variables(std::move(more));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace keys
