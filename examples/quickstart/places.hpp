#pragma once

/// What the steps of the quickstart agree on: where everything lies, and the mix.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace quickstart {

inline constexpr double prose_share = 0.7, code_share = 0.3;

/// Rows of a batch, over all ranks.
inline constexpr std::size_t global_batch = 24;

/// Rows of the mix that the held-out loss is measured on; a multiple of 12.
inline constexpr std::size_t held_out_rows = 480;

/// Where everything of one quickstart lies.
struct places {
  std::filesystem::path work;
  std::string store_url{};  // s3://bucket/prefix; empty: a folder of work plays the object store
  std::string data_url{};   // of the datasets, if they lie elsewhere
  std::vector<std::string>
      checkpoint_urls{};                 // of the checkpoints, likewise; the first is read first
  std::filesystem::path cache_folder{};  // of this node; empty: one of work

  [[nodiscard]] std::string store() const {
    return store_url.empty() ? (work / "store").string() : store_url;
  }
  [[nodiscard]] std::string data() const { return data_url.empty() ? store() : data_url; }
  [[nodiscard]] std::vector<std::string> checkpoints(const std::string& run) const {
    std::vector<std::string> urls = checkpoint_urls;
    if (urls.empty()) urls.push_back(store());
    for (std::string& url : urls) url += "/checkpoints/" + run;
    return urls;
  }
  [[nodiscard]] std::string cache() const {
    return (cache_folder.empty() ? work / "cache" : cache_folder / "train").string();
  }
  [[nodiscard]] std::string held_out_cache() const {
    return (cache_folder.empty() ? work / "held-out-cache" : cache_folder / "held-out").string();
  }
  [[nodiscard]] std::filesystem::path bigram() const { return work / "bigram.txt"; }
  [[nodiscard]] std::filesystem::path chart() const { return work / "loss.svg"; }
  [[nodiscard]] std::filesystem::path log(const std::string& run) const {
    return runs() / (run + ".tsv");
  }
  [[nodiscard]] std::filesystem::path runs() const { return work / "runs"; }
  [[nodiscard]] std::filesystem::path events(const std::string& run) const {
    return runs() / (run + ".events");
  }
  [[nodiscard]] std::filesystem::path timing(const std::string& run) const {
    return runs() / (run + ".timing.jsonl");
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
