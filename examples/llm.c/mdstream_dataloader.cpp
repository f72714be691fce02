// The data path of llm.c's train_gpt2.c on mdstream. llm.c's own loader takes windows of B * T + 1
// tokens of a file, one every B * T, in an order that std::mt19937 shuffles. That is a stream of
// `tokens` with that window and stride, and a shuffler of our own.

#include "mdstream_dataloader.h"

#include <mdstream/mdstream.hpp>
#include <mdstream/source/formats.hpp>
#include <mdstream/store/s3.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mds = mdstream;

namespace {

/// llm.c's random_permutation with the generator that dataloader_init seeds, which each epoch of n
/// windows has taken n - 1 numbers of.
struct llmc_shuffle {
  struct sequence {
    std::shared_ptr<const std::vector<std::int64_t>> ids;
    [[nodiscard]] std::uint64_t size() const { return ids->size(); }
    void read(std::uint64_t first, std::span<std::int64_t> out) const {
      std::copy_n(ids->begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
    }
  };

  static constexpr std::string_view name() { return "llm.c"; }

  [[nodiscard]] sequence open(const mds::shuffle_task& task) const {
    std::vector<std::int64_t> ids(task.units.size());
    task.units.read(0, ids);
    std::mt19937 random(42);
    random.discard(task.epoch * (ids.size() - 1));
    for (std::size_t i = ids.size() - 1; i > 0; --i) std::swap(ids[i], ids[random() % (i + 1)]);
    return {std::make_shared<const std::vector<std::int64_t>>(std::move(ids))};
  }
};

using policies = mds::policies<llmc_shuffle, mds::raw::any_format<mds::raw::tokens>,
                               mds::any_store<mds::store::local, mds::store::s3>>;
using loader_type = mds::loader<policies>;

/// A file of tokens: `url` without its last part is the dataset, which is the file's name.
mds::loader_options options_of(std::string url, std::size_t tokens_of_batch, bool shuffle) {
  if (url.find('/') == std::string::npos) url = "./" + url;
  const std::size_t slash = url.rfind('/');
  mds::loader_options options{
      .streams = {{.remote = url.substr(0, slash),
                   .raw = {.format = "tokens",
                           .files = url.substr(slash + 1),
                           .window = tokens_of_batch + 1,

                           .stride = tokens_of_batch}}},
      .batch_size = 1,
      .shuffle = shuffle,
  };
  if (const char* cache = std::getenv("MDSTREAM_CACHE"); cache != nullptr)
    options.local = std::string(cache) + "/" + url.substr(slash + 1);
  return options;
}

}  // namespace

struct mdstream_tokens {
  mdstream_tokens(std::string url, std::size_t tokens_of_batch, bool shuffle)
      : loader(options_of(std::move(url), tokens_of_batch, shuffle)), epoch(loader.epoch()) {}

  /// A window: a batch of llm.c's.
  std::span<const std::uint16_t> next() {
    if (!epoch.next(batch)) {
      epoch = loader.epoch();
      if (!epoch.next(batch)) throw std::runtime_error("the file has no whole batch");
    }
    return batch.dense<std::uint16_t>("tokens")[0];
  }

  loader_type loader;
  loader_type::epoch_type epoch;
  loader_type::batch_type batch;
};

/// The trainer is C: no exception leaves this file.
template <class Work>
static void or_exit(Work&& work) {
  try {
    work();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "mdstream: %s\n", failure.what());
    std::exit(EXIT_FAILURE);
  }
}

extern "C" {

void dataloader_init(DataLoader* loader, const char* url, size_t B, size_t T, int process_rank,
                     int num_processes, int should_shuffle) {
  or_exit([&] {
    if (process_rank != 0 || num_processes != 1)
      throw std::invalid_argument("this loader is for one process, as train_gpt2.c is");
    const std::size_t batch = B * T;
    auto tokens = std::make_unique<mdstream_tokens>(url, batch, should_shuffle != 0);
    loader->num_tokens = tokens->loader.epoch_size() * batch + 1;
    loader->inputs = new int[batch];
    loader->targets = new int[batch];
    loader->tokens = tokens.release();
  });
}

void dataloader_reset(DataLoader* loader) {
  or_exit([&] { loader->tokens->epoch = loader->tokens->loader.epoch(); });
}

void dataloader_next_batch(DataLoader* loader) {
  or_exit([&] {
    const auto window = loader->tokens->next();
    std::copy(window.begin(), window.end() - 1, loader->inputs);
    std::copy(window.begin() + 1, window.end(), loader->targets);
  });
}

void dataloader_free(DataLoader* loader) {
  delete loader->tokens;
  delete[] loader->inputs;
  delete[] loader->targets;
}

}  // extern "C"
