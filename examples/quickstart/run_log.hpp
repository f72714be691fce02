#pragma once

/// What a run wrote down of each step: a line of text, with the loss's bits beside its value.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace quickstart {

struct log_entry {
  std::uint64_t step = 0;
  double loss = 0.0;      // nats a byte, of this step's batch
  double held_out = 0.0;  // nats a byte; 0 where it was not measured at this step
  std::uint64_t digest = 0;

  bool operator==(const log_entry&) const = default;
};

/// Hexadecimal floating point: equal texts are equal bits.
[[nodiscard]] inline std::string to_line(const log_entry& entry) {
  char line[160];
  std::snprintf(line, sizeof line, "%llu\t%.6f\t%a\t%a\t%016llx\n",
                static_cast<unsigned long long>(entry.step), entry.loss, entry.loss, entry.held_out,
                static_cast<unsigned long long>(entry.digest));
  return line;
}

/// The entries of a log; a line that a kill cut short is not one.
[[nodiscard]] inline std::vector<log_entry> read_log(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("there is no run's log at " + path.string());
  std::vector<log_entry> entries;
  std::string line;
  while (std::getline(file, line) && !file.eof()) {
    unsigned long long step = 0, digest = 0;
    log_entry entry;
    if (std::sscanf(line.c_str(), "%llu\t%*f\t%la\t%la\t%llx", &step, &entry.loss, &entry.held_out,
                    &digest) != 4) {
      throw std::runtime_error(path.string() + ": '" + line + "' is no line of a run's log");
    }
    entry.step = step;
    entry.digest = digest;
    entries.push_back(entry);
  }
  return entries;
}

/// The entries of a log, if there is one: a run may have begun on another machine.
[[nodiscard]] inline std::vector<log_entry> read_log_if_any(const std::filesystem::path& path) {
  return std::filesystem::exists(path) ? read_log(path) : std::vector<log_entry>();
}

/// Appends steps to a log. Opened at step `first`, it drops what an earlier process wrote from that
/// step on: those steps are done again. Steps that were done on another machine are missing.
class run_log {
 public:
  run_log(const std::filesystem::path& path, std::uint64_t first) : path_(path) {
    std::vector<log_entry> kept = read_log_if_any(path);
    std::erase_if(kept, [&](const log_entry& entry) { return entry.step >= first; });
    std::filesystem::create_directories(path.parent_path());
    // Replaced at once: a kill leaves the old log or the new one.
    const std::string rewritten = path.string() + ".new";
    file_.open(rewritten, std::ios::trunc);
    for (const log_entry& entry : kept) file_ << to_line(entry);
    file_.flush();
    check();
    std::filesystem::rename(rewritten, path);
  }

  void add(const log_entry& entry) {
    file_ << to_line(entry) << std::flush;
    check();
  }

 private:
  void check() const {
    if (!file_) throw std::runtime_error("cannot write " + path_.string());
  }

  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace quickstart
