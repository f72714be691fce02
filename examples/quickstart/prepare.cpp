#include "prepare.hpp"

#include "bigram.hpp"
#include "data.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

namespace quickstart {

void prepare(const places& where, const prepare_options& options) {
  const std::pair<corpus_source, double> sources[] = {
      {{"prose", options.prose, is_prose}, prose_share},
      {{"code", options.code, is_code}, code_share}};
  // All texts before anything is removed: a folder that has too few leaves the last runs as they
  // are.
  std::vector<corpus> corpora;
  for (const auto& [source, share] : sources)
    corpora.push_back(collect(source, {.most = 6'000'000}));
  where.clear();
  const auto bucket = policies::store::open(where.store());
  for (const auto& old : bucket.list("checkpoints/")) bucket.remove(old.key);
  bigram_table bigrams;
  for (std::size_t i = 0; i < corpora.size(); ++i) {
    const auto& [source, share] = sources[i];
    const corpus& rows = corpora[i];
    const std::string store = where.store() + '/';
    const std::size_t train = write_dataset(store + source.name, rows.train);
    const std::size_t held_out = write_dataset(store + "held-out/" + source.name, rows.held_out);
    std::printf("%-5s  %6zu rows of %zu bytes in %s, %zu held out\n", source.name.c_str(), train,
                row_bytes, (store + source.name).c_str(), held_out);
    bigrams.add(rows.train, share);
  }
  const double loss = bigrams.loss(read_held_out(where, held_out_rows));
  std::ofstream(where.bigram()) << loss << '\n';
  std::printf("bigram table  %.3f nats a byte on held-out text\n", loss);
}

}  // namespace quickstart
