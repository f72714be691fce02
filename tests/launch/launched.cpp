// A process that launchers start: says which rank it is, and, told to `train`, waits until it is
// asked to end the first time that the job is started; where MEETING is in the environment, it
// returns when all ranks have left their name in that directory. Told to `write DIRECTORY`, it
// writes its part of a dataset there, and told to `read DIRECTORY`, checks the whole.

#include <mdstream/launch/environment.hpp>
#include <mdstream/launch/stop_request.hpp>
#include <mdstream/mdstream.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace {

bool is_restarted() {
  for (const char* const name : {"SLURM_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT"}) {
    const char* const count = std::getenv(name);
    if (count != nullptr && std::string_view(count) != "0") return true;
  }
  return false;
}

void say(const std::string& text) {
  std::puts(text.c_str());
  std::fflush(stdout);
}

namespace mds = mdstream;

using policies = mds::policies<mds::schema<mds::column<"number", mds::int_>>>;

constexpr std::uint64_t all_samples = 10'000;

void write_part(const std::string& directory, const mds::world& world) {
  mds::writer<policies> out({.out = directory,
                             .size_limit = mds::byte_size(4096),
                             .part = {world.rank, world.num_ranks()}});
  const std::uint64_t end = all_samples * (world.rank + 1) / world.num_ranks();
  for (std::uint64_t i = all_samples * world.rank / world.num_ranks(); i < end; ++i)
    out.write(static_cast<std::int64_t>(i));
  out.finish();
}

/// Whether the parts are one dataset, in the order of the ranks.
bool is_whole(const std::string& directory) {
  const mds::dataset<policies> data({.local = directory});
  std::int64_t next = 0;
  for (const auto sample : data)
    if (sample.get<"number">() != next++) return false;
  return static_cast<std::uint64_t>(next) == all_samples;
}

/// Launchers end all ranks as soon as one has returned a status other than 0.
void meet(const std::filesystem::path& directory, const mds::world& world) {
  std::filesystem::create_directories(directory);
  const auto name = [&](std::uint64_t rank) { return directory / std::to_string(rank); };
  std::ofstream{name(world.rank)};
  for (std::uint64_t rank = 0; rank < world.num_ranks(); ++rank)
    while (!std::filesystem::exists(name(rank)))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace

int main(int count, char** words) try {
  namespace launch = mdstream::launch;
  launch::stop_request stop;
  const mdstream::world world = launch::from_environment(&std::getenv);
  const std::string rank = "rank " + std::to_string(world.rank) + " of " +
                           std::to_string(world.num_ranks()) + ", " +
                           std::to_string(world.ranks_per_node) + " on a node";
  if (count == 3 && std::string_view(words[1]) == "write") {
    write_part(words[2], world);
    say(rank + " wrote");
    return 0;
  }
  if (count == 3 && std::string_view(words[1]) == "read") {
    if (!is_whole(words[2])) throw std::runtime_error("the parts are not one dataset");
    say("the dataset is whole");
    return 0;
  }
  if (count < 2 || std::string_view(words[1]) != "train") {
    say(rank + ", token " + launch::token_from_environment(&std::getenv));
    return 0;
  }
  if (is_restarted()) {
    say(rank + " goes on");
    return 0;
  }
  say(rank + " trains, process " + std::to_string(::getpid()));
  while (!stop.requested()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  say(rank + " saves, and ends with " + std::to_string(stop.exit_status()));
  if (const char* const meeting = std::getenv("MEETING")) meet(meeting, world);
  return stop.exit_status();
} catch (const std::exception& e) {
  std::fprintf(stderr, "launched: error: %s\n", e.what());
  return 1;
}
