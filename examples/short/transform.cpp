// Counts words on the thread pool, and leaves out one word of each text by chance: the same one on
// any number of ranks and after any stop.

#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

namespace mds = mdstream;

using texts = mds::schema<mds::column<"text", mds::str>>;

struct drop_word {
  using output = mds::schema<mds::column<"text", mds::str>, mds::column<"words", std::int64_t>>;
  void operator()(const mds::sample_view<texts>& in, mds::sample_writer<output>& out,
                  mds::sample_generator& random) const {
    std::string text(in.get<"text">());
    const auto words = std::ranges::count(text, ' ') + 1;
    for (auto n = random.below(static_cast<std::uint64_t>(words)); n > 0; --n)
      std::ranges::rotate(text, text.begin() + static_cast<std::ptrdiff_t>(text.find(' ')) + 1);
    out.write(text.substr(text.find(' ') + 1), std::int64_t{words - 1});
  }
};

using policies = mds::policies<texts, drop_word, mds::collate::ragged>;

int main() {
  mds::loader<policies> loader({.remote = "reviews", .batch_size = 4}, {});
  auto epoch = loader.epoch();
  auto& batch = *epoch.begin();
  for (std::size_t i = 0; i < batch.size(); ++i)
    std::printf("%d words: %s\n", int(batch.get<"words">()[i]),
                std::string(batch.get<"text">()[i]).c_str());
}
