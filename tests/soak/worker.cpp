// One rank of the soak. Arguments: bucket, gs, local, limit, rank, state (or "-"). For each byte on
// standard input it reads one batch and writes one line, "epoch number digest state": what is
// killed goes on behind the last line. At the end of its input it ends, with status 0.
// A full disk is met by asking again, or, at startup, by status 3.

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

#include "soak/data.hpp"

namespace {

using soak::loader;
namespace mds = mdstream;

bool may_go_on() {
  char granted = 0;
  return ::read(STDIN_FILENO, &granted, 1) == 1;
}

/// In one call, which is whole or not there whenever this process is killed (below PIPE_BUF).
void say(const std::string& line) {
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    std::_Exit(4);
}

bool next(loader::epoch_type& epoch, loader::batch_type& batch) {
  for (;;) {
    try {
      return epoch.next(batch);
    } catch (const mds::error& e) {
      if (e.code() != mds::errc::no_space) throw;
      say("full\n");
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

void run(char** given) {
  auto options = soak::options_of(given[1], given[2]);
  options.local = given[3];
  options.cache_limit = mds::byte_size(std::strtoull(given[4], nullptr, 10));
  options.world = mds::world{
      .nodes = 1, .ranks_per_node = soak::ranks, .rank = std::strtoull(given[5], nullptr, 10)};
  options.download_retry = 1000;  // of a server that lies in every tenth answer
  // What is given up although it comes is asked for twice: a loaded machine must not be that late.
  options.download_timeout = std::chrono::seconds(4);
  options.threads = 2;
  options.warn = [](const std::string&) {};
  loader data(std::move(options));
  if (std::string(given[6]) != "-") data.load_state(given[6]);
  for (;;) {
    auto epoch = data.epoch();
    loader::batch_type batch;
    for (;;) {
      if (!may_go_on()) return;
      if (!next(epoch, batch)) {
        epoch = data.epoch();
        if (!next(epoch, batch)) throw std::runtime_error("an epoch without batches");
      }
      say(std::to_string(batch.epoch()) + ' ' + std::to_string(batch.number()) + ' ' +
          std::to_string(soak::digest_of(batch)) + ' ' + data.state() + '\n');
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  try {
    run(argv);
    return 0;
  } catch (const mds::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return e.code() == mds::errc::no_space ? 3 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
