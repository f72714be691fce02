// language_model DIRECTORY FILE...: trains a small causal language model on packed rows of text.
//
// A paragraph of a file is a document, a byte a token. Documents share rows of 256 tokens, and
// batch.packing() says where each begins and ends, so that the model never looks from one into
// another. The dataset is written to DIRECTORY first; a run of your own would have done that long
// before.

#include <mdstream/collate/packed.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace mds = mdstream;
using namespace mds::literals;

using policies = mds::policies<
    mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t>>>,
    // Eight samples are packed together: any number of ranks that eight divides packs the same.
    mds::collate::packed<mds::collate::packing{
        .row = 256, .group = 8, .longer = mds::collate::truncation::split, .pad_value = 0}>>;

void write_dataset(const std::string& where, std::span<char*> files) {
  mds::writer<policies> out(
      {.out = where, .size_limit = 64_KiB, .existing = mds::existing_dataset::replace});
  std::vector<std::uint16_t> document;
  const auto end_document = [&] {
    if (document.size() > 1) out.write(document);
    document.clear();
  };
  for (const char* name : files) {
    std::ifstream file(name, std::ios::binary);
    for (std::string line; std::getline(file, line);) {
      if (line.empty()) end_document();
      for (const char c : line) document.push_back(static_cast<unsigned char>(c));
      document.push_back('\n');
    }
    end_document();
  }
  out.finish();
}

/// Predicts a byte from the `context` bytes before it in its document: one embedding for each byte
/// and distance, summed; a rectifier; a softmax over 256 bytes. Trained by Adam.
class model {
 public:
  model() : weights_(parameters), gradient_(parameters), mean_(parameters), square_(parameters) {
    std::mt19937 random(1);
    for (float& each : weights_) each = (static_cast<float>(random()) / 0x1p32F - 0.5F) * 0.2F;
  }

  /// One step on the rows of a batch; returns the sum of -ln p over its tokens.
  double learn(std::span<const std::uint16_t> tokens, const mds::packing_view& packing) {
    std::ranges::fill(gradient_, 0.0F);
    double loss = 0.0;
    std::size_t count = 0;
    for (const mds::packed_run& run : packing) {
      if (run.is_padding()) continue;  // at the end of a row
      const auto document = tokens.subspan(run.begin, run.size);
      for (std::size_t at = 0; at < document.size(); ++at, ++count) loss += learn(document, at);
    }
    update(static_cast<float>(count));
    return loss;
  }

 private:
  static constexpr std::size_t context = 4, hidden = 32, bytes = 256;
  static constexpr std::size_t output = context * bytes * hidden, bias = output + bytes * hidden;
  static constexpr std::size_t parameters = bias + bytes;

  double learn(std::span<const std::uint16_t> document, std::size_t at) {
    const std::size_t seen = std::min(at, context);
    const auto embedding = [&](std::size_t back) {
      return (back * bytes + document[at - 1 - back]) * hidden;
    };
    std::array<float, hidden> state{}, state_gradient{};
    for (std::size_t back = 0; back < seen; ++back)
      for (std::size_t h = 0; h < hidden; ++h) state[h] += weights_[embedding(back) + h];
    for (float& each : state) each = std::max(each, 0.0F);

    std::array<float, bytes> p;
    float total = 0.0F;
    for (std::size_t b = 0; b < bytes; ++b) {
      float logit = weights_[bias + b];
      for (std::size_t h = 0; h < hidden; ++h)
        logit += weights_[output + b * hidden + h] * state[h];
      total += p[b] = std::exp(std::min(logit, 60.0F));
    }
    const double loss = std::log(static_cast<double>(total) / p[document[at]]);

    for (std::size_t b = 0; b < bytes; ++b) {
      const float slope = p[b] / total - (b == document[at] ? 1.0F : 0.0F);
      gradient_[bias + b] += slope;
      for (std::size_t h = 0; h < hidden; ++h) {
        gradient_[output + b * hidden + h] += slope * state[h];
        state_gradient[h] += slope * weights_[output + b * hidden + h];
      }
    }
    for (std::size_t back = 0; back < seen; ++back)
      for (std::size_t h = 0; h < hidden; ++h)
        if (state[h] > 0.0F) gradient_[embedding(back) + h] += state_gradient[h];
    return loss;
  }

  void update(float tokens) {
    ++steps_;
    const float unbias_mean = 1.0F - std::pow(0.9F, static_cast<float>(steps_));
    const float unbias_square = 1.0F - std::pow(0.99F, static_cast<float>(steps_));
    for (std::size_t i = 0; i < parameters; ++i) {
      const float slope = gradient_[i] / tokens;
      mean_[i] += 0.1F * (slope - mean_[i]);
      square_[i] += 0.01F * (slope * slope - square_[i]);
      weights_[i] -=
          0.02F * (mean_[i] / unbias_mean) / (std::sqrt(square_[i] / unbias_square) + 1e-8F);
    }
  }

  std::vector<float> weights_, gradient_, mean_, square_;
  int steps_ = 0;
};

/// What a model that knows only how often each byte comes would lose, in nats a token.
double loss_by_frequency(const std::array<double, 256>& counts, double total) {
  double sum = 0.0;
  for (const double count : counts)
    if (count > 0.0) sum -= count * std::log(count / total);
  return sum / total;
}

int main(int count, char** words) try {
  if (count < 3) {
    std::fprintf(stderr, "usage: language_model DIRECTORY FILE...\n");
    return 2;
  }
  const std::string directory = words[1];
  write_dataset(directory, std::span(words, static_cast<std::size_t>(count)).subspan(2));

  mds::loader<policies> loader({.local = directory, .batch_size = 8, .seed = 7});
  model learner;
  double loss = 0.0, by_frequency = 0.0;
  for (int epoch = 0; epoch < 4; ++epoch) {
    double sum = 0.0, tokens = 0.0;
    std::array<double, 256> counts{};
    std::size_t rows = 0;
    for (auto& batch : loader.epoch()) {
      const auto row_tokens = batch.get<"tokens">();  // shape {rows, 256}
      const mds::packing_view packing = batch.packing();
      sum += learner.learn(row_tokens.values(), packing);
      for (std::size_t i = 0; i < row_tokens.values().size(); ++i)
        if (packing.segment_ids()[i] >= 0) ++tokens, ++counts[row_tokens.values()[i]];
      rows += row_tokens.size();
      // loader.state() goes into your checkpoint.
    }
    loss = sum / tokens;
    by_frequency = loss_by_frequency(counts, tokens);
    std::printf("epoch %d: %.0f tokens in %zu rows, %.1f %% of them full, loss %.2f nats a token\n",
                epoch, tokens, rows, 100.0 * tokens / (static_cast<double>(rows) * 256.0), loss);
  }
  const bool learnt = loss < 0.9 * by_frequency;
  std::printf("loss %.2f, from the bytes' frequencies alone %.2f: %s\n", loss, by_frequency,
              learnt ? "the model has learnt" : "the model has not learnt");
  return learnt ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "language_model: error: %s\n", e.what());
  return 1;
}
