#pragma once

/// What the steps of the quickstart agree on: where everything lies, and the mix.

#include <cstddef>
#include <filesystem>
#include <string>

namespace quickstart {

inline constexpr double prose_share = 0.7, code_share = 0.3;

/// Rows of a batch, over all ranks.
inline constexpr std::size_t global_batch = 24;

/// Rows of the mix that the held-out loss is measured on; a multiple of 6.
inline constexpr std::size_t held_out_rows = 480;

/// Where everything of one quickstart lies.
struct places {
  std::filesystem::path work;
  std::string store_url{};  // s3://bucket/prefix; empty: a folder of work plays the object store

  [[nodiscard]] std::string store() const {
    return store_url.empty() ? (work / "store").string() : store_url;
  }
  [[nodiscard]] std::string checkpoints(const std::string& run) const {
    return store() + "/checkpoints/" + run;
  }
  [[nodiscard]] std::string cache() const { return (work / "cache").string(); }
  [[nodiscard]] std::string held_out_cache() const { return (work / "held-out-cache").string(); }
  [[nodiscard]] std::filesystem::path bigram() const { return work / "bigram.txt"; }
  [[nodiscard]] std::filesystem::path chart() const { return work / "loss.svg"; }
  [[nodiscard]] std::filesystem::path log(const std::string& run) const {
    return runs() / (run + ".tsv");
  }
  [[nodiscard]] std::filesystem::path runs() const { return work / "runs"; }
  [[nodiscard]] std::filesystem::path events(const std::string& run) const {
    return runs() / (run + ".events");
  }
  [[nodiscard]] std::filesystem::path processes(const std::string& run) const {
    return runs() / (run + ".pids");
  }

  /// Removes what the quickstart made in `work`, and nothing else that lies there.
  void clear() const {
    for (const char* const own :
         {"store", "cache", "held-out-cache", "runs", "bigram.txt", "loss.svg"})
      std::filesystem::remove_all(work / own);
  }
};

}  // namespace quickstart
