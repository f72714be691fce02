#include <mdstream/core/detail/processors.hpp>

#include <sched.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "store/scratch.hpp"
#include "support/catch.hpp"

// Cores by what the kernel says of control groups, in files as cgroups(7) has them.

namespace processors_test {

namespace detail = mdstream::detail;
using files = std::map<std::string, std::string>;

/// What a machine of 64 cores with these files below /sys/fs/cgroup leaves to the process.
unsigned cores(const std::string& groups, const files& of) {
  const scratch_directory::scratch dir;
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(dir / path).parent_path());
    std::ofstream(dir / path) << text << '\n';
  };
  if (!groups.empty()) write("proc/self/cgroup", groups);
  for (const auto& [path, text] : of) write("sys/fs/cgroup/" + path, text);
  return detail::cores_of_group(64, dir / "");
}

}  // namespace processors_test

TEST_CASE("without limits all cores of the machine count") {
  using namespace processors_test;
  CHECK(cores("", {}) == 64);
  CHECK(cores("0::/", {}) == 64);
  CHECK(cores("0::/", {{"cpu.max", "max 100000"}, {"cpuset.cpus.effective", "0-63"}}) == 64);
  CHECK(cores("1:cpu,cpuacct:/", {{"cpu,cpuacct/cpu.cfs_quota_us", "-1"},
                                  {"cpu,cpuacct/cpu.cfs_period_us", "100000"}}) == 64);
  CHECK(detail::cores_of_machine() >= 1);
  CHECK(detail::cores_of_group(7, "/no/such/root") == 7);
}

TEST_CASE("version 2: time is rounded up, lists are counted, the narrowest parent counts") {
  using namespace processors_test;
  CHECK(cores("0::/", {{"cpu.max", "150000 100000"}}) == 2);
  CHECK(cores("0::/", {{"cpu.max", "200000 100000"}}) == 2);
  CHECK(cores("0::/", {{"cpu.max", "1000 100000"}}) == 1);
  CHECK(cores("0::/", {{"cpuset.cpus.effective", "0-3,8,10-11"}}) == 7);
  CHECK(cores("0::/", {{"cpuset.cpus.effective", "5"}}) == 1);
  CHECK(cores("0::/", {{"cpu.max", "900000 100000"}, {"cpuset.cpus.effective", "0-3"}}) == 4);
  CHECK(cores("0::/job_7/step_0", {{"job_7/step_0/cpu.max", "max 100000"},
                                   {"job_7/cpu.max", "400000 100000"},
                                   {"cpu.max", "900000 100000"}}) == 4);
  CHECK(cores("0::/job_7/step_0", {{"job_7/step_0/cpuset.cpus.effective", "0-2"},
                                   {"job_7/cpuset.cpus.effective", "0-15"}}) == 3);
  // The path is the host's, the files are the container's.
  CHECK(cores("0::/kubepods/pod1/c2", {{"cpu.max", "600000 100000"}}) == 6);
}

TEST_CASE("version 1: the controllers that a line names, together or each for itself") {
  using namespace processors_test;
  const std::string groups = "9:cpuset:/docker/c\n4:cpu,cpuacct:/docker/c\n1:name=systemd:/x\n0::/";
  CHECK(cores(groups, {{"cpu,cpuacct/docker/c/cpu.cfs_quota_us", "250000"},
                       {"cpu,cpuacct/docker/c/cpu.cfs_period_us", "100000"}}) == 3);
  CHECK(cores(groups, {{"cpu/cpu.cfs_quota_us", "250000"}, {"cpu/cpu.cfs_period_us", "50000"}}) ==
        5);
  CHECK(cores(groups,
              {{"cpuset/docker/c/cpuset.cpus", "0,2,4,6"}, {"cpuset/cpuset.cpus", "0-63"}}) == 4);
  CHECK(cores(groups, {{"memory/docker/c/cpuset.cpus", "0"}}) == 64);
}

TEST_CASE("what is no limit, in whatever text, limits nothing") {
  using namespace processors_test;
  for (const char* const text : {"", "max", "100000", "0 100000", "100000 0", "-5 100000",
                                 "1e5 1e5", "99999999999999999999999 100000", "100000 100000 7"})
    CHECK(cores("0::/", {{"cpu.max", text}}) == 64);
  for (const char* const text : {"", "x", "3-1", "1-", "-", "0,,1", "0-4294967295999999999999"})
    CHECK(cores("0::/", {{"cpuset.cpus.effective", text}}) == 64);
  for (const char* const lines :
       {"0", "0:", "0::", "::", "no colons", "0::relative", ":::/", "0::/../../x"})
    CHECK(cores(lines, {{"x", "y"}}) == 64);
}

TEST_CASE("affinity counts the cores that the thread may run on") {
  using namespace processors_test;
  const unsigned before = detail::cores_by_affinity();
  CHECK(before >= 1);
  unsigned bound = 0;
  std::thread([&] {
    cpu_set_t all, one;
    CPU_ZERO(&all);
    if (::sched_getaffinity(0, sizeof all, &all) != 0) return;
    int first = 0;
    while (!CPU_ISSET(first, &all)) ++first;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (::sched_setaffinity(0, sizeof one, &one) == 0) bound = detail::cores_by_affinity();
  }).join();
  CHECK(bound == 1);
  CHECK(detail::cores_by_affinity() == before);
}

TEST_CASE("ranks divide the cores of a node, and not those that they were bound to") {
  using detail = unsigned (*)(unsigned, unsigned, std::uint64_t);
  constexpr detail share = mdstream::detail::cores_of_rank;
  CHECK(share(128, 128, 8) == 16);
  CHECK(share(16, 128, 8) == 16);  // bound by the launcher
  CHECK(share(16, 16, 8) == 2);    // a container with 16 cores
  CHECK(share(4, 128, 8) == 4);
  CHECK(share(128, 12, 8) == 2);  // a share of time of 12 cores
  CHECK(share(128, 128, 1) == 128);
  CHECK(share(128, 128, 0) == 128);
  CHECK(share(8, 8, 64) == 2);
  CHECK(share(1, 128, 2) == 1);
  CHECK(share(128, 1, 2) == 1);
}
