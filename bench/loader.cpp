// Cached random access and shuffled iteration in one process, beside what the machine can do at
// most: the same samples in the same order, straight from mapped files.

#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/harness.hpp"
#include "support/peer.hpp"

namespace mds = mdstream;
using namespace mds::literals;

namespace {
std::atomic<std::uint64_t> allocations{0};
}  // namespace

// Every allocation of the process is counted.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace {

template <std::uint64_t Bytes>
using policies = mds::policies<mds::schema<mds::column<"x", mds::ndarray<std::uint8_t, Bytes>>>,
                               mds::shuffle::py1e, mds::collate::dense>;

using tokens =
    policies<4096>::with<mds::schema<mds::column<"x", mds::ndarray<std::uint16_t, 2048>>>>;

/// As many bytes as JPEG files have, each another number. (Peers would decode a column of JPEG.)
using files = mds::policies<mds::schema<mds::column<"x", mds::bytes>>>;

/// Work that takes far longer than fetching its bytes: what is measured is the pool.
struct digest_rounds {
  using output = mds::schema<mds::column<"digest", std::uint64_t>>;
  static std::uint64_t digest(mds::bytes_view sample) {
    mds::fnv1a hash;
    for (int round = 0; round < 20; ++round) hash.add(sample);
    return hash.value();
  }
  void operator()(const mds::sample_view<policies<1024>::schema>& in,
                  mds::sample_writer<output>& out, mds::sample_generator&) const {
    out.write(digest(in.bytes()));
  }
};
using transformed = policies<1024>::with<digest_rounds>;

// Keeps results that nobody reads from being optimised away.
volatile std::uint64_t sink;

/// Sums every word of a sample, so that all of its bytes are really read.
std::uint64_t sum_words(const std::byte* at, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) sum += mds::load<std::uint64_t>(at + i);
  return sum;
}

template <class Policies, class SizeOf>
void write_dataset(const std::string& where, std::size_t samples, const SizeOf& size_of,
                   mds::byte_size shard = 64_MiB) {
  if (std::filesystem::exists(where + "/index.json")) return;
  mds::writer<Policies> out({.out = where, .size_limit = shard});
  std::mt19937_64 random(1);
  std::vector<std::byte> sample;
  for (std::size_t i = 0; i < samples; ++i) {
    sample.resize(size_of(random));
    for (std::size_t at = 0; at + 8 <= sample.size(); at += 8) {
      const std::uint64_t word = random();
      std::memcpy(sample.data() + at, &word, 8);
    }
    out.write(sample);
  }
  out.finish();
}

/// Where every sample lies in the mapped shards, with no library between.
class raw_samples {
 public:
  explicit raw_samples(const std::string& where) {
    const std::string path = where + "/index.json";
    const mds::dataset_index index = mds::detail::load_index({.directory = where});
    for (std::size_t k = 0; k < index.shards(); ++k) {
      const std::string file = where + '/' + std::string(index.raw(k).name);
      const mds::detail::unique_fd fd(::open(file.c_str(), O_RDONLY));
      mappings_.push_back(mds::detail::file_mapping::of(fd.get(), index.raw(k).bytes, file));
      const mds::mds_shard_view shard(mappings_.back().bytes(), index.shard_samples(k));
      for (std::uint64_t i = 0; i < shard.size(); ++i) {
        at_.push_back(shard[i].data());
        sizes_.push_back(static_cast<std::uint32_t>(shard[i].size()));
      }
    }
  }
  [[nodiscard]] const std::byte* operator[](std::size_t i) const { return at_[i]; }
  [[nodiscard]] std::size_t size_of(std::size_t i) const { return sizes_[i]; }
  [[nodiscard]] std::size_t size() const { return at_.size(); }

 private:
  std::vector<mds::detail::file_mapping> mappings_;
  std::vector<const std::byte*> at_;
  std::vector<std::uint32_t> sizes_;
};

std::vector<std::uint32_t> shuffled_indices(std::size_t count) {
  std::vector<std::uint32_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint32_t>(i);
  std::shuffle(out.begin(), out.end(), std::mt19937(7));
  return out;
}

template <std::uint64_t Bytes>
void random_access(const std::string& where, const std::string& size) {
  const raw_samples raw(where);
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

/// An epoch of a loader; returns its samples.
template <class Loader>
std::uint64_t read_epoch(Loader& loader) {
  std::uint64_t samples = 0, sum = 0;
  for (auto& batch : loader.epoch()) {
    samples += batch.size();
    sum += sum_words(batch.data(), 8);
  }
  sink = sum;
  return samples;
}

/// The same by hand: each batch's samples, copied once. `Bytes`: of each; 0: they vary.
template <std::size_t Bytes>
auto gather(const raw_samples& raw, std::size_t batch_size) {
  std::size_t most = Bytes;
  for (std::size_t i = 0; Bytes == 0 && i < raw.size(); ++i) most = std::max(most, raw.size_of(i));
  return [&raw, batch_size, order = shuffled_indices(raw.size()),
          into = std::vector<std::byte>(batch_size * most)]() mutable {
    std::uint64_t sum = 0;
    for (std::size_t first = 0; first < order.size(); first += batch_size) {
      std::byte* to = into.data();
      for (std::size_t i = first; i < std::min(first + batch_size, order.size()); ++i) {
        const std::size_t bytes = Bytes != 0 ? Bytes : raw.size_of(order[i]);
        std::memcpy(to, raw[order[i]], bytes);
        to += bytes;
      }
      sum += sum_words(into.data(), 8);
    }
    sink = sum;
    return static_cast<std::uint64_t>(order.size());
  };
}

template <class Policies, std::size_t Bytes>
void iteration(const std::string& where, const std::string& size, std::size_t batch_size) {
  const std::string name = "iteration, " + size;
  if (!bench::is_wanted(name)) return;
  const raw_samples raw(where);
  mds::loader<Policies> typed({.local = where, .batch_size = batch_size});
  mds::loader<> by_name({.local = where, .batch_size = batch_size});
  mds::loader<Policies> alone({.local = where, .batch_size = batch_size, .threads = 1});
  bench::run_case("loader", name, "samples/s",
                  bench::with({{"mdstream", [&] { return read_epoch(typed); }},
                               {"limit:mmap", gather<Bytes>(raw, batch_size)},
                               {"mdstream, columns by name", [&] { return read_epoch(by_name); }},
                               {"mdstream, one worker", [&] { return read_epoch(alone); }}},
                              bench::peers_of("loader", name, where)));
  const std::uint64_t before = allocations;
  const std::uint64_t samples = read_epoch(typed);
  const std::uint64_t between = allocations;
  (void)read_epoch(by_name);
  const auto tell = [&](const char* who, std::uint64_t count) {
    std::printf(
        "{\"bench\":\"loader\",\"case\":\"allocations, %s\",\"who\":\"%s\",\"value\":%.4f,"
        "\"unit\":\"a sample\"}\n",
        size.c_str(), who, static_cast<double>(count) / static_cast<double>(samples));
  };
  tell("mdstream", between - before);
  tell("mdstream, columns by name", allocations - between);
}

/// The same digests by threads that share nothing: what a second one is worth on this machine.
auto digests(const raw_samples& raw, std::size_t threads) {
  return [&raw, threads] {
    std::vector<std::uint64_t> sums(threads);
    const auto part = [&](std::size_t k) {
      std::uint64_t sum = 0;
      for (std::size_t i = raw.size() * k / threads; i < raw.size() * (k + 1) / threads; ++i)
        sum += digest_rounds::digest({raw[i], raw.size_of(i)});
      sums[k] = sum;
    };
    {
      std::vector<std::jthread> others;
      for (std::size_t k = 1; k < threads; ++k) others.emplace_back(part, k);
      part(0);
    }
    sink = std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
    return static_cast<std::uint64_t>(raw.size());
  };
}

/// What a second worker gives where samples are transformed.
void scaling(const std::string& where) {
  const std::string name = "transform, 1 KiB";
  if (!bench::is_wanted(name)) return;
  const auto open = [&](unsigned threads) {
    // What is put together ahead while the other has its turn is little of an epoch: a batch of
    // digests takes 256 bytes.
    return mds::loader<transformed>(
        {.local = where, .batch_size = 32, .prefetch_limit = 16_KiB, .threads = threads});
  };
  auto two = open(2), one = open(1);
  const raw_samples raw(where);
  bench::run_case("loader", name, "samples/s",
                  {{"mdstream, two workers", [&] { return read_epoch(two); }},
                   {"mdstream, one worker", [&] { return read_epoch(one); }},
                   {"limit:threads", digests(raw, 2)},
                   {"limit:threads, one", digests(raw, 1)}});
}

/// What taking the state costs right after a batch, its text included.
template <class Loader>
void states_of(Loader& loader, const std::string& name) {
  std::vector<double> took;
  std::size_t bytes = 0;
  for ([[maybe_unused]] auto& batch : loader.epoch()) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string state = loader.state();
    const std::chrono::duration<double, std::micro> end = std::chrono::steady_clock::now() - begin;
    took.push_back(end.count());
    bytes = state.size();
    if (took.size() == 8192) break;
  }
  std::ranges::sort(took);
  std::printf(
      "{\"bench\":\"loader\",\"case\":\"%s\",\"who\":\"mdstream\",\"value\":%.2f,\"unit\":\"us\","
      "\"p99\":%.2f,\"bytes\":%zu}\n",
      name.c_str(), took[took.size() / 2], took[took.size() * 99 / 100], bytes);
}

/// The same of a small job and of one of 100,002 shards, in which shards were found to be bad.
void states(const std::string& root, const std::string& small) {
  if (!bench::is_wanted("state")) return;
  mds::loader<policies<64>> alone({.local = small, .batch_size = 32});
  states_of(alone, "state, one stream");
  mds::loader<policies<64>>::options given{.batch_size = 32};
  auto& streams = given.streams;
  for (int i = 0; i < 3; ++i) {
    streams.push_back({.local = root + "/many-" + std::to_string(i), .proportion = 0.2 + 0.1 * i});
    write_dataset<policies<64>>(streams.back().local, 33'334 * 4, [](auto&) { return 64; }, 452);
  }
  for (const std::uint32_t bad : {0U, 16U, 400U}) {
    mds::loader<policies<64>> mix(given);
    mds::run_state known = mds::parse_state(mix.state());
    for (std::uint32_t i = 0; i < bad; ++i) known.substituted.push_back(250 * i);
    mix.load_state(mds::to_text(known));
    states_of(mix, "state, 100,002 shards of 3 streams, " + std::to_string(bad) + " bad");
  }
}

/// Resident memory after each of ten epochs, the dataset's mapped pages included.
template <class Policies>
void memory_over_epochs(const std::string& where, const std::string& size) {
  if (!bench::is_wanted("memory, " + size)) return;
  mds::loader<Policies> loader({.local = where, .batch_size = 32});
  for (int epoch = 0; epoch < 10; ++epoch) {
    (void)read_epoch(loader);
    std::printf(
        "{\"bench\":\"loader\",\"case\":\"memory, %s, epoch "
        "%d\",\"who\":\"mdstream\",\"value\":%.1f,"
        "\"unit\":\"MiB resident\"}\n",
        size.c_str(), epoch, bench::resident_mb());
  }
}

template <std::uint64_t Bytes>
std::string samples_of(const std::string& root, std::size_t samples) {
  const std::string where = root + "/samples-" + std::to_string(Bytes);
  write_dataset<policies<Bytes>>(where, samples, [](auto&) { return Bytes; });
  return where;
}

template <std::uint64_t Bytes>
void all_cases(const std::string& where, const std::string& size) {
  random_access<Bytes>(where, size);
  iteration<policies<Bytes>, Bytes>(where, size, 32);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string root = argc > 1 ? argv[1] : "build/bench-data";
  const std::string kilobytes = samples_of<1024>(root, 262'144);
  const std::string small = samples_of<64>(root, 1'048'576);
  memory_over_epochs<policies<64>>(small, "64 B");  // before others leave something behind
  memory_over_epochs<policies<1024>>(kilobytes, "1 KiB");
  all_cases<1024>(kilobytes, "1 KiB");
  all_cases<64>(small, "64 B");
  const std::string rows = root + "/tokens";
  write_dataset<tokens>(rows, 65'536, [](auto&) { return 4096U; });
  iteration<tokens, 4096>(rows, "2048 uint16", 32);
  const std::string pictures = root + "/files";
  write_dataset<files>(pictures, 2'000, [](auto& random) { return 75'000 + random() % 70'000; });
  iteration<files, 0>(pictures, "110 KB JPEG", 256);
  scaling(kilobytes);
  states(root, small);
}
