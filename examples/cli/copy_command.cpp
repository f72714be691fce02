// mdstream copy: objects from any store to any store.

#include <mdstream/async/runtime.hpp>

#include "command.hpp"
#include "copy_plan.hpp"
#include "object_copier.hpp"
#include "progress_bar.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cli {

namespace {

struct copy_arguments {
  std::string list;
  std::vector<std::string> urls;
  unsigned jobs = 16;
};

// Copies all items, `jobs` at a time. After a failure nothing new is begun, and it is thrown when
// what is under way has ended.
void copy_all(const copy_plan& plan, object_copier& copier, unsigned jobs) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    while (true) {
      const std::size_t i = next++;
      if (i >= plan.items.size()) return;
      try {
        copier.copy(plan.items[i]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = plan.items.size();
      }
    }
  };
  std::vector<std::thread> threads;
  const std::size_t count = std::clamp<std::size_t>(plan.items.size(), 1, jobs);
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back(work);
  for (std::thread& each : threads) each.join();
  if (failure) std::rethrow_exception(failure);
}

copy_plan plan_of(const copy_arguments& args, mds::runtime& threads) {
  const bool listed = !args.list.empty();
  if (args.urls.size() != (listed ? 1 : 2)) {
    throw usage_error("copy takes a source and a destination, or --list FILE and a destination");
  }
  return listed ? plan_list(args.list, args.urls[0])
                : plan_copy(threads, args.urls[0], args.urls[1]);
}

void copy(const copy_arguments& args) {
  const auto start = std::chrono::steady_clock::now();
  // One thread of the network fills a file at 1 to 2 GB/s, as curl does; more, and it is the
  // server.
  mds::runtime threads(2, std::clamp(std::thread::hardware_concurrency(), 1U, 2U));
  const copy_plan plan = plan_of(args, threads);
  copy_progress progress;
  progress.objects = plan.items.size();
  for (const copy_item& each : plan.items) progress.bytes_expected += each.bytes.value_or(0);
  object_copier copier(threads, plan.destination, progress);
  {
    const progress_bar bar(progress);
    copy_all(plan, copier, args.jobs);
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  print({{"copied", progress.copied.load()},
         {"skipped", progress.skipped.load()},
         {"bytes", progress.bytes.load()},
         {"seconds", time.count()}});
}

}  // namespace

void add_copy(CLI::App& program) {
  auto args = std::make_shared<copy_arguments>();
  CLI::App* const command = program.add_subcommand(
      "copy", "Copy an object or a directory between any two stores; a killed copy goes on");
  command->add_option("urls", args->urls, "Source and destination")->required()->type_name("URL");
  command
      ->add_option("--list", args->list, "Copy the URLs in this file, a line each, by their keys")
      ->type_name("FILE");
  command->add_option("--jobs", args->jobs, "Objects at a time")
      ->capture_default_str()
      ->check(CLI::Range(1U, 1024U));
  command->callback([args] { copy(*args); });
}

}  // namespace cli
