// Objects written, read, listed and removed over a line that fails: a model in memory says what has
// to be there. The server behind it is the fake, or the real one that tests/servers/with.sh
// started.

#include <mdstream/store/limited.hpp>
#include <mdstream/store/retrying.hpp>
#include <mdstream/store/s3.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "s3/server.hpp"
#include "s3/with_fake.hpp"
#include "store/conformance.hpp"
#include "support/catch.hpp"
#include "support/fault_proxy.hpp"
#include "support/sanitizer.hpp"
#include "support/seed.hpp"

namespace s3_faults_test {

namespace mds = mdstream;
using mds::store::s3;
using mds::store::s3_options;
using support::fault_proxy;
using namespace std::chrono_literals;

bool server_is_real() { return !real_server::name().empty(); }

std::size_t wanted_faults() {
  if (std::getenv("MDSTREAM_LONG_TESTS") != nullptr) return 100'000;
  if (server_is_real()) return 300;
  return support::sanitized ? 500 : 10'000;
}

const mds::retry_policy patience{
    .attempts = 50, .pause = 10us, .jitter = mds::retry_jitter::decorrelated};

/// What one thread does beneath a prefix of its own.
template <class S>
class worker {
 public:
  worker(const S& store, std::string prefix, std::size_t largest, std::uint64_t seed)
      : store_(store), prefix_(std::move(prefix)), largest_(largest), random_(seed) {}

  void step() {
    const std::string key = prefix_ + std::to_string(random_() % 8);
    switch (random_() % 6) {
      case 0:
      case 1: return write(key);
      case 2: return read(key);
      case 3: return read_part(key);
      case 4: return remove(key);
      default: return list();
    }
  }

 private:
  void write(const std::string& key) {
    const std::size_t size = random_() % (random_() % 16 == 0 ? largest_ : 3000);
    auto bytes = conformance::noise(size, static_cast<unsigned>(random_()));
    mds::store_write(store_, key, bytes);
    model_[key] = std::move(bytes);
  }

  void read(const std::string& key) {
    const auto found = model_.find(key);
    if (found == model_.end()) return;
    require(mds::store_size(store_, key) == found->second.size(), "size of " + key);
    std::vector<std::byte> got(found->second.size());
    require(mds::store_read(store_, key, 0, got) == got.size() && got == found->second, key);
  }

  void read_part(const std::string& key) {
    const auto found = model_.find(key);
    if (found == model_.end() || found->second.empty()) return;
    const auto& all = found->second;
    const std::size_t first = random_() % all.size();
    std::vector<std::byte> got(1 + random_() % (all.size() - first));
    require(
        mds::store_read(store_, key, first, got) == got.size() &&
            std::equal(got.begin(), got.end(), all.begin() + static_cast<std::ptrdiff_t>(first)),
        "a part of " + key);
  }

  void remove(const std::string& key) {
    mds::store_remove(store_, key);
    model_.erase(key);
  }

  void list() {
    std::vector<std::string> keys;
    for (const auto& [key, bytes] : model_) keys.push_back(key);
    require(conformance::keys_of(store_, prefix_) == keys, "the listing");
  }

  static void require(bool right, const std::string& what) {
    if (!right) throw std::runtime_error("not what was written: " + what);
  }

  const S& store_;
  const std::string prefix_;
  const std::size_t largest_;
  std::mt19937_64 random_;
  std::map<std::string, std::vector<std::byte>> model_;
};

/// Several at once, until the line has failed so often.
template <class S>
void work(const S& store, const fault_proxy& line, std::size_t largest, std::uint64_t seed) {
  std::vector<std::string> failures(4);
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    workers.emplace_back([&, i] {
      worker<S> one(store, "worker-" + std::to_string(i) + '/', largest, seed + i);
      try {
        while (line.faults() < wanted_faults()) one.step();
      } catch (const std::exception& e) {
        failures[i] = e.what();
      }
    });
  }
  for (std::thread& each : workers) each.join();
  for (const std::string& failure : failures) CHECK(failure == "");
}

TEST_CASE("a line that fails in every way, and every object right", "[s3][server]") {
  const std::uint64_t seed = support::test_seed();
  INFO("seed " << seed);
  mds::runtime threads(2);
  std::unique_ptr<fake_s3::server> fake;
  if (!server_is_real()) fake = std::make_unique<fake_s3::server>();
  const fault_proxy line(fake ? fake->url() : real_server::variable("S3_ENDPOINT_URL"), 20, seed);
  const std::string url = fake ? fake->s3_url() : real_server::new_bucket(threads);
  s3_options options = fake ? with_fake::options_for(*fake) : s3_options{};
  options.endpoint = line.url();
  options.part_bytes = fake ? 1000 : 5 << 20;  // real ones take none smaller
  options.part_retry = patience;
  const mds::retrying store(threads, mds::adaptive(s3(threads, url, options)), patience,
                            mds::detail::shared_retry_budget(mds::detail::retry_budget(1e6)));
  work(store, line, fake ? 20'000 : 12 << 20, seed);
  CHECK(line.faults() >= wanted_faults());
}

}  // namespace s3_faults_test
