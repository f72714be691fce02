#pragma once

/// What the subcommands of `mdstream` share.

#include <mdstream/core/error.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace cli {

namespace mds = mdstream;

/// Members stay in the order in which they were added.
using json = nlohmann::ordered_json;

/// A fault of the command line: exit status 2.
struct usage_error : std::runtime_error {
  using runtime_error::runtime_error;
};

/// A signal asked for the end: exit status 128 + its number.
struct interrupted : std::runtime_error {
  interrupted(int number, const std::string& what) : std::runtime_error(what), signal(number) {}
  int signal;
};

/// The text of an error on one line.
[[nodiscard]] inline std::string one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n  because: ", at)) != std::string::npos;) {
    text.replace(at, 12, ": ");
  }
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

/// One line of JSON on stdout.
void print(const json& value);

// Each adds its subcommand to the program.
void add_order(CLI::App& program);
void add_cat(CLI::App& program);
void add_index(CLI::App& program);
void add_inspect(CLI::App& program);
void add_verify(CLI::App& program);
void add_stream(CLI::App& program);
void add_warm(CLI::App& program);
void add_copy(CLI::App& program);
void add_convert(CLI::App& program);
void add_write(CLI::App& program);
void add_merge_index(CLI::App& program);
void add_checkpoint(CLI::App& program);

}  // namespace cli
