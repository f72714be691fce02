#include <mdstream/core/detail/pages.hpp>

#include <unistd.h>
#include <new>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace pages_test {

namespace mds = mdstream;

/// Of this process, in bytes.
std::size_t resident() {
  std::size_t all = 0, in_memory = 0;
  std::ifstream("/proc/self/statm") >> all >> in_memory;
  return in_memory * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST_CASE("pages are zeros, and move from hand to hand") {
  mds::detail::pages first(100'000);
  REQUIRE(first.size() == 100'000);
  for (std::size_t i = 0; i < first.size(); i += 999) CHECK(first.data()[i] == std::byte{0});
  first.data()[99'999] = std::byte{7};
  mds::detail::pages second = std::move(first);
  CHECK(first.data() == nullptr);
  CHECK(second.data()[99'999] == std::byte{7});
  first = std::move(second);
  CHECK(first.data()[99'999] == std::byte{7});
  CHECK(mds::detail::pages().data() == nullptr);
}

TEST_CASE("a vector grows from small to large and keeps what it holds") {
  mds::detail::large_vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < 100'000; ++i) numbers.push_back(i * i);
  mds::detail::large_vector<std::uint64_t> copy = numbers;
  numbers.clear();
  numbers.shrink_to_fit();
  for (std::uint64_t i = 0; i < copy.size(); ++i) REQUIRE(copy[i] == i * i);
}

TEST_CASE("a large vector's memory is the system's again when it ends") {
  constexpr std::size_t bytes = std::size_t{24} << 20;
  std::size_t before = 0, during = 0, after = 0;
  // A thread has an arena of its own. Malloc maps what is larger than anything it has given back
  // yet, and what lies below something in use stays with the arena.
  std::thread([&] {
    {
      const std::vector<std::byte> larger(std::size_t{30} << 20);
    }
    before = resident();
    std::unique_ptr<int> above;
    {
      const mds::detail::large_vector<std::byte> many(bytes, std::byte{1});
      above = std::make_unique<int>(1);
      during = resident();
    }
    after = resident();
  }).join();
  CHECK(during > before + bytes / 2);
  CHECK(after < before + bytes / 2);
}

TEST_CASE("what no machine has is refused") {
  CHECK_THROWS_AS(mds::detail::pages(std::size_t{1} << 62), std::bad_alloc);
  mds::detail::page_allocator<std::uint64_t> memory;
  CHECK_THROWS_AS(memory.allocate(std::size_t{1} << 62), std::bad_alloc);
}

}  // namespace pages_test
