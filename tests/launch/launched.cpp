// A process that launchers start: says which rank it is, and, told to `train`, waits until it is
// asked to end the first time that the job is started.

#include <mdstream/launch/environment.hpp>
#include <mdstream/launch/stop_request.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
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

}  // namespace

int main(int count, char** words) try {
  namespace launch = mdstream::launch;
  launch::stop_request stop;
  const mdstream::world world = launch::from_environment(&std::getenv);
  const std::string rank = "rank " + std::to_string(world.rank) + " of " +
                           std::to_string(world.num_ranks()) + ", " +
                           std::to_string(world.ranks_per_node) + " on a node";
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
  say(rank + " saves");
  return stop.exit_status();
} catch (const std::exception& e) {
  std::fprintf(stderr, "launched: error: %s\n", e.what());
  return 1;
}
