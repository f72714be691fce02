// Stops in the middle of an epoch. Run it again: it goes on with the next batch.

#include <mdstream/mdstream.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace mds = mdstream;

using policies =
    mds::policies<mds::schema<mds::column<"label", std::int64_t>>, mds::collate::dense>;

int main() {
  mds::loader<policies> loader({.remote = "reviews", .batch_size = 64});
  std::ifstream saved("state.json");
  if (const std::string state{std::istreambuf_iterator<char>(saved), {}}; !state.empty())
    loader.load_state(state);

  for (auto& batch : loader.epoch()) {
    std::printf("batch %d begins with sample %d\n", int(batch.number()), int(batch.ids()[0]));
    if (batch.number() % 20 == 19) break;  // the process stops here
  }
  std::ofstream("state.json") << loader.state();  // in a real run: into your checkpoint
}
