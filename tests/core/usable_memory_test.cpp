#include <mdstream/core/detail/usable_memory.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>

#include "store/scratch.hpp"
#include "support/catch.hpp"

// Memory by what the kernel says of the machine and of control groups, in files as proc_meminfo(5)
// and cgroups(7) have them.

namespace usable_memory_test {

using files = std::map<std::string, std::string>;

constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();
constexpr const char* machine =
    "MemTotal:       65536000 kB\nMemFree:         1024000 kB\nMemAvailable:   50000000 kB\n"
    "Buffers:          500000 kB";
constexpr std::uint64_t of_machine = 50'000'000ULL * 1024;

/// What a machine with these files below /sys/fs/cgroup leaves to the process.
std::uint64_t memory(const std::string& meminfo, const std::string& groups, const files& of) {
  const scratch_directory::scratch dir;
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(dir / path).parent_path());
    std::ofstream(dir / path) << text << '\n';
  };
  if (!meminfo.empty()) write("proc/meminfo", meminfo);
  if (!groups.empty()) write("proc/self/cgroup", groups);
  for (const auto& [path, text] : of) write("sys/fs/cgroup/" + path, text);
  return mdstream::detail::usable_memory(dir / "");
}

}  // namespace usable_memory_test

TEST_CASE("without limits the memory is what the machine has available") {
  using namespace usable_memory_test;
  CHECK(memory(machine, "", {}) == of_machine);
  CHECK(memory(machine, "0::/", {{"memory.max", "max"}, {"memory.high", "max"}}) == of_machine);
  CHECK(memory(machine, "4:memory:/", {{"memory/memory.limit_in_bytes", "9223372036854771712"}}) ==
        of_machine);
  CHECK(memory("", "", {}) == unknown);
  CHECK(memory("", "0::/", {{"memory.max", "4096"}}) == 4096);
  const std::uint64_t usable = mdstream::detail::usable_memory();
  CHECK(usable > 0);
  CHECK(usable < unknown);
}

TEST_CASE("version 2: the least limit of a group and its parents, less what is allocated in it") {
  using namespace usable_memory_test;
  CHECK(memory(machine, "0::/", {{"memory.max", "1000000"}}) == 1'000'000);
  CHECK(memory(machine, "0::/", {{"memory.max", "1000000"}, {"memory.high", "800000"}}) == 800'000);
  CHECK(memory(machine, "0::/",
               {{"memory.max", "1000000"},
                {"memory.stat", "anon 300000\nfile 600000\nanon_thp 5"}}) == 700'000);
  CHECK(memory(machine, "0::/",
               {{"memory.max", "1000000"}, {"memory.stat", "anon_thp 5\nanon 1200000"}}) == 0);
  CHECK(memory(machine, "0::/job/step",
               {{"job/step/memory.max", "max"},
                {"job/step/memory.stat", "anon 1"},
                {"job/memory.max", "5000000"},
                {"job/memory.stat", "anon 1000000"},
                {"memory.max", "9000000"}}) == 4'000'000);
  // The path is the host's, the files are the container's.
  CHECK(memory(machine, "0::/kubepods/pod1/c2", {{"memory.max", "6000000"}}) == 6'000'000);
}

TEST_CASE("version 1: the group of the memory controller") {
  using namespace usable_memory_test;
  const std::string groups = "9:cpuset:/docker/c\n4:memory:/docker/c\n0::/";
  CHECK(memory(machine, groups,
               {{"memory/docker/c/memory.limit_in_bytes", "3000000"},
                {"memory/docker/c/memory.stat", "rss 5\ntotal_rss 1000000\ntotal_rss_huge 7"}}) ==
        2'000'000);
  CHECK(memory(machine, groups, {{"memory/memory.limit_in_bytes", "3000000"}}) == 3'000'000);
  CHECK(memory(machine, groups, {{"cpuset/docker/c/memory.limit_in_bytes", "10"}}) == 10);
}

TEST_CASE("texts that say nothing of memory limit nothing") {
  using namespace usable_memory_test;
  for (const char* const text : {"", "max", "-1", "1e6", "99999999999999999999999", "10 20"})
    CHECK(memory(machine, "0::/", {{"memory.max", text}}) == of_machine);
  for (const char* const text :
       {"MemAvailable:", "MemAvailable: \nx", "MemAvailable: x kB", "MemAvailable:1 kB",
        "MemAvailableX: 7 kB", "\n\n", "MemAvailable: 99999999999999999999999 kB"})
    CHECK(memory(text, "", {}) == unknown);
  CHECK(memory("MemAvailable: 18446744073709551615 kB", "", {}) == unknown);
  CHECK(memory("MemAvailable: 0 kB", "", {}) == 0);
}
