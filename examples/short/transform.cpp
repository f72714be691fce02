// Leaves out a word of each text by chance, on the thread pool: the same word on any number of
// ranks and threads, and after any stop.

#include <mdstream/mdstream.hpp>

#include <cstdio>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace mds = mdstream;

using texts = mds::schema<mds::column<"text", mds::str>>;

struct drop_word {
  using output = mds::schema<mds::column<"text", mds::str>, mds::column<"words", std::int64_t>>;
  void operator()(const mds::sample_view<texts>& in, mds::sample_writer<output>& out,
                  mds::sample_generator& random) const {
    std::istringstream text{std::string(in.get<"text">())};
    std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
    if (!words.empty())
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(random.below(words.size())));
    std::string rest;
    for (const std::string& word : words) rest += word + ' ';
    out.write(rest, static_cast<std::int64_t>(words.size()));
  }
};

using policies = mds::policies<texts, drop_word, mds::collate::ragged>;

int main() {
  mds::loader<policies> loader({.remote = "reviews", .batch_size = 4});
  auto epoch = loader.epoch();
  auto& batch = *epoch.begin();
  for (std::size_t i = 0; i < batch.size(); ++i)
    std::printf("%d words: %s\n", int(batch.get<"words">()[i]),
                std::string(batch.get<"text">()[i]).c_str());
}
