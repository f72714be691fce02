// README's program of version 0.1: what it costs to compile is compared with that version.

#include <mdstream/codec/zstd.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>

#include <array>
#include <cstdio>

namespace mds = mdstream;
using namespace mds::literals;

// What can be decided while compiling is a named policy; the rest are plain option structs.
using policies = mds::policies<mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t, 128>>>,
                               mds::codec::zstd, mds::shuffle::py1e, mds::collate::dense>;

void write_dataset(const char* where, std::uint16_t first_token) {
  mds::writer<policies> out({.out = where, .compression = "zstd:3", .size_limit = 16_KiB});
  std::array<std::uint16_t, 128> tokens{};
  for (int sample = 0; sample < 1000; ++sample) {
    tokens.fill(static_cast<std::uint16_t>(first_token + sample));
    out.write(tokens);  // one argument a column
  }
  out.finish();  // the index goes last: a writer that dies before leaves no dataset
}

int main() {
  write_dataset("store/text", 0);
  write_dataset("store/code", 1000);

  const auto open = [] {
    return mds::loader<policies>({.streams = {{.remote = "store/text", .proportion = 0.7},
                                              {.remote = "store/code", .proportion = 0.3}},
                                  .local = "cache",
                                  .cache_limit = 1_MiB,
                                  .batch_size = 32,
                                  .seed = 9176});
  };

  std::string state;
  {
    auto loader = open();
    for (auto& batch : loader.epoch()) {
      batch.ready_on(nullptr);  // with a device stager: your stream waits, not you
      const auto tokens = batch.get<"tokens">();  // a view, shape {32, 128}
      std::printf("batch %llu begins with token %u\n",
                  static_cast<unsigned long long>(batch.number()), tokens[0][0]);
      state = loader.state();  // text; goes into your checkpoint
      if (batch.number() == 9) break;
    }
  }

  auto resumed = open();  // here, or on another number of ranks with the same global batch size
  resumed.load_state(state);
  std::size_t samples = 0;
  for (auto& batch : resumed.epoch()) samples += batch.size();
  std::printf("%zu samples were left of the epoch\n", samples);
}
