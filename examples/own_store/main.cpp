// own_store FILE: writes a dataset into a store of the program's own and streams it, by URL.

#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>

#include "tape.hpp"

#include <cstdio>
#include <exception>
#include <string>

namespace mds = mdstream;

using policies = mds::policies<mds::schema<mds::column<"text", mds::str>>,
                               mds::any_store<mds::store::local, own_store::tape>>;

int main(int count, char** words) try {
  const std::string url = std::string("tape://") + (count > 1 ? words[1] : "dataset.tape");
  mds::writer<policies> out(
      {.out = url, .size_limit = 1024, .existing = mds::existing_dataset::replace});
  for (int i = 0; i < 100; ++i) out.write("sample " + std::to_string(i));
  out.finish();

  mds::loader<policies> loader({.remote = url, .local = url.substr(7) + ".cache", .batch_size = 8});
  std::size_t samples = 0;
  for (auto& batch : loader.epoch()) samples += batch.size();
  std::printf("%zu samples from %s\n", samples, url.c_str());
} catch (const std::exception& e) {
  std::fprintf(stderr, "own_store: error: %s\n", e.what());
  return 1;
}
