// Cached random access and shuffled iteration in one process, beside what the machine can do at
// most: the same samples in the same order, straight from mapped files.

#include <mdstream/mdstream.hpp>

#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"
#include "support/peer.hpp"

namespace mds = mdstream;
using namespace mds::literals;

namespace {

constexpr std::size_t batch_size = 32;

template <std::uint64_t Bytes>
struct policies : mds::default_policies {
  using schema = mds::schema<mds::column<"x", mds::ndarray<std::uint8_t, Bytes>>>;
  using shuffler = mds::shuffle::py1e;
  using collator = mds::collate::dense;
};

// Keeps results that nobody reads from being optimised away.
volatile std::uint64_t sink;

/// Sums every word of a sample, so that all of its bytes are really read.
std::uint64_t sum_words(const std::byte* at, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) sum += mds::load<std::uint64_t>(at + i);
  return sum;
}

template <std::uint64_t Bytes>
void write_dataset(const std::string& where, std::size_t samples) {
  if (std::filesystem::exists(where + "/index.json")) return;
  mds::writer<policies<Bytes>> out({.out = where, .size_limit = 64_MiB});
  std::mt19937_64 random(1);
  std::vector<std::uint8_t> sample(Bytes);
  for (std::size_t i = 0; i < samples; ++i) {
    for (std::size_t at = 0; at < Bytes; at += 8) {
      const std::uint64_t word = random();
      std::memcpy(sample.data() + at, &word, 8);
    }
    out.write(sample);
  }
  out.finish();
}

/// Where every sample lies in the mapped shards, with no library between.
template <std::uint64_t Bytes>
class raw_samples {
 public:
  explicit raw_samples(const std::string& where) {
    const std::string path = where + "/index.json";
    const mds::dataset_index index =
        mds::load_index<mds::store::local>(nullptr, {.directory = where});
    for (std::size_t k = 0; k < index.shards(); ++k) {
      const std::string file = where + '/' + std::string(index.raw(k).name);
      const mds::unique_fd fd(::open(file.c_str(), O_RDONLY));
      mappings_.push_back(mds::file_mapping::of(fd.get(), index.raw(k).bytes, file));
      const mds::mds_shard_view shard(mappings_.back().bytes(), index.shard_samples(k));
      for (std::uint64_t i = 0; i < shard.size(); ++i) at_.push_back(shard[i].data());
    }
  }
  [[nodiscard]] const std::byte* operator[](std::size_t i) const { return at_[i]; }
  [[nodiscard]] std::size_t size() const { return at_.size(); }

 private:
  std::vector<mds::file_mapping> mappings_;
  std::vector<const std::byte*> at_;
};

std::vector<std::uint32_t> shuffled_indices(std::size_t count) {
  std::vector<std::uint32_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint32_t>(i);
  std::shuffle(out.begin(), out.end(), std::mt19937(7));
  return out;
}

template <std::uint64_t Bytes>
void random_access(const std::string& where, const std::string& size) {
  const raw_samples<Bytes> raw(where);
  const auto order = shuffled_indices(raw.size());
  const mds::dataset<policies<Bytes>> typed({.local = where});
  const mds::dataset<> by_name({.local = where});
  const auto walk = [&](auto&& sample_at) {
    return [&order, sample_at] {
      std::uint64_t sum = 0;
      for (const std::uint32_t i : order) sum += sample_at(i);
      sink = sum;
      return static_cast<std::uint64_t>(order.size());
    };
  };
  const std::string name = "random access, " + size;
  bench::run_case(
      "loader", name, "samples/s",
      bench::with({{"mdstream", walk([&](std::uint32_t i) {
                      const auto sample = typed[i];
                      return sum_words(sample.template get<"x">().bytes().data(), Bytes);
                    })},
                   {"limit:mmap", walk([&](std::uint32_t i) { return sum_words(raw[i], Bytes); })},
                   {"mdstream, columns by name", walk([&](std::uint32_t i) {
                      const auto sample = by_name[i];
                      return sum_words(sample.template get<mds::bytes_view>("x").data(), Bytes);
                    })}},
                  bench::peers_of("loader", name, where)));
}

template <std::uint64_t Bytes>
void iteration(const std::string& where, const std::string& size) {
  const raw_samples<Bytes> raw(where);
  const auto order = shuffled_indices(raw.size());
  mds::loader<policies<Bytes>> loader({.local = where, .batch_size = batch_size, .threads = 1});
  const auto epoch = [&] {
    std::uint64_t samples = 0, sum = 0;
    for (auto& batch : loader.epoch()) {
      samples += batch.size();
      sum += sum_words(batch.data(), 8);
    }
    sink = sum;
    return samples;
  };
  const auto gather = [&] {
    std::vector<std::byte> into(batch_size * Bytes);
    std::uint64_t sum = 0;
    for (std::size_t first = 0; first + batch_size <= order.size(); first += batch_size) {
      for (std::size_t i = 0; i < batch_size; ++i)
        std::memcpy(into.data() + i * Bytes, raw[order[first + i]], Bytes);
      sum += sum_words(into.data(), 8);
    }
    sink = sum;
    return static_cast<std::uint64_t>(order.size());
  };
  const std::string name = "iteration, " + size;
  bench::run_case("loader", name, "samples/s",
                  bench::with({{"mdstream", epoch}, {"limit:mmap", gather}},
                              bench::peers_of("loader", name, where)));
}

/// Resident memory after each of ten epochs, the dataset's mapped pages included.
template <std::uint64_t Bytes>
void memory_over_epochs(const std::string& where, const std::string& size) {
  mds::loader<policies<Bytes>> loader({.local = where, .batch_size = batch_size, .threads = 1});
  for (int epoch = 0; epoch < 10; ++epoch) {
    std::uint64_t samples = 0;
    for (auto& batch : loader.epoch()) samples += batch.size();
    std::printf(
        "{\"bench\":\"loader\",\"case\":\"memory, %s, epoch "
        "%d\",\"who\":\"mdstream\",\"value\":%.1f,"
        "\"unit\":\"MiB resident\"}\n",
        size.c_str(), epoch, bench::resident_mb());
  }
}

template <std::uint64_t Bytes>
void all_cases(const std::string& root, const std::string& size, std::size_t samples) {
  const std::string where = root + "/samples-" + std::to_string(Bytes);
  write_dataset<Bytes>(where, samples);
  random_access<Bytes>(where, size);
  iteration<Bytes>(where, size);
  memory_over_epochs<Bytes>(where, size);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string root = argc > 1 ? argv[1] : "build/bench-data";
  all_cases<1024>(root, "1 KiB", 262'144);
  all_cases<64>(root, "64 B", 1'048'576);
}
