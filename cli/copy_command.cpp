// mdstream copy: objects from any store to any store.

#include <mdstream/async/detail/event.hpp>
#include <mdstream/async/runtime.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/store/detail/cloud/listing.hpp>

#include "command.hpp"
#include "copy_plan.hpp"
#include "object_copier.hpp"
#include "progress_bar.hpp"
#include "stop_signals.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace cli {

namespace {

struct copy_arguments {
  std::string list;
  std::vector<std::string> urls;
  std::string compare = "hash";
  unsigned jobs = 16;
  bool verify = false;
  store_patience patience;
};

// Copies the items of a plan, so many at a time. What ends begins the next, on the thread on which
// it ended: for a small object, to wake another costs as much as to copy it.
class copy_run {
 public:
  copy_run(const copy_plan& plan, object_copier& copier, std::stop_token stop)
      : plan_(plan), copier_(copier), stop_(std::move(stop)) {}

  // After a failure or a stop nothing new is begun, and it is thrown when what is under way has
  // ended. Failures of single objects do not keep the others from being copied.
  void wait_for_all(unsigned jobs) {
    std::vector<lane> lanes(std::clamp<std::size_t>(plan_.items.size(), 1, jobs));
    open_ = lanes.size();
    for (lane& each : lanes) go_on(each);
    ended_.wait();
    if (first_ && (!failure_ || mds::code_of(failure_) == mds::errc::canceled)) throw_first();
    if (failure_) std::rethrow_exception(failure_);
    if (next_ < plan_.items.size()) throw mds::error(mds::errc::canceled, "stopped");
  }

 private:
  struct lane {
    std::atomic<bool> turned{false};  // the copy has ended, or the call that began it has
  };

  // A copy that ends within the call that began it goes on here, so that calls do not nest.
  void go_on(lane& its) {
    do {
      its.turned = false;
      if (stop_.stop_requested()) return close();
      const std::size_t i = next_++;
      if (i >= plan_.items.size()) return close();
      copier_.async_copy(plan_.items[i], [this, &its](const std::exception_ptr& failure) {
        if (failure) take(failure);
        if (its.turned.exchange(true)) go_on(its);
      });
    } while (its.turned.exchange(true));
  }

  void take(const std::exception_ptr& failure) {
    const std::lock_guard lock(mutex_);
    try {
      std::rethrow_exception(failure);
    } catch (const object_failure& e) {
      if (failed_++ == 0) first_ = e;
    } catch (...) {
      if (!failure_) failure_ = failure;
      next_ = plan_.items.size();
    }
  }

  [[noreturn]] void throw_first() const {
    mds::diagnostics where = first_->where();
    if (const std::size_t others = failed_ - 1; others > 0) {
      where.what += "; " + std::to_string(others) +
                    (others == 1 ? " other object was" : " other objects were") +
                    " not copied either";
    }
    throw object_failure(first_->code(), std::move(where));
  }

  void close() {
    if (--open_ == 0) ended_.set();
  }

  const copy_plan& plan_;
  object_copier& copier_;
  const std::stop_token stop_;
  std::atomic<std::size_t> next_{0}, open_{0};
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::optional<object_failure> first_;  // of single objects
  std::size_t failed_ = 0;
  mds::detail::one_time_event ended_;
};

copy_plan plan_of(const copy_arguments& args, mds::runtime& threads, const std::stop_token& stop) {
  const bool listed = !args.list.empty();
  if (args.urls.size() != (listed ? 1 : 2)) {
    throw usage_error("copy takes a source and a destination, or --list FILE and a destination");
  }
  return listed ? plan_list(args.list, args.urls[0])
                : plan_copy(threads, args.urls[0], args.urls[1], args.patience, stop);
}

// Who asked for sizes alone knows.
void warn_of_sizes(const copy_progress& progress, compare_by compared) {
  if (compared == compare_by::size || progress.skipped_by_size == 0) return;
  mds::warn_on_stderr("of the objects that were left, " + std::to_string(progress.skipped) +
                      " in all, " + std::to_string(progress.skipped_by_size) +
                      " had the right size, and no hash told whether they had the right bytes");
}

void copy_until(const std::stop_token& stop, const copy_arguments& args) {
  const auto start = std::chrono::steady_clock::now();
  mds::runtime threads(2, mds::runtime::io_threads_for_transfers());
  const auto& listing = threads.service<mds::detail::listing_progress>();
  copy_progress progress;
  std::optional<progress_bar> bar;  // ends before what it shows
  bar.emplace([&](double) { return std::to_string(listing.found) + " objects listed"; });
  const copy_plan plan = plan_of(args, threads, stop);
  progress.objects = plan.items.size();
  for (const copy_item& each : plan.items) progress.bytes_expected += each.bytes.value_or(0);
  const compare_by compared = args.compare == "size" ? compare_by::size : compare_by::hash;
  object_copier copier(threads, plan, {compared, args.verify, args.jobs, args.patience}, stop,
                       progress);
  bar.emplace([&](double seconds) { return progress_text(progress, seconds); });
  copy_run(plan, copier, stop).wait_for_all(args.jobs);
  bar.reset();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  print({{"copied", progress.copied.load()},
         {"skipped", progress.skipped.load()},
         {"skipped_by_size", progress.skipped_by_size.load()},
         {"bytes", progress.bytes.load()},
         {"seconds", time.count()}});
  warn_of_sizes(progress, compared);
}

void copy(const copy_arguments& args) {
  const stop_signals signals;
  try {
    copy_until(signals.token(), args);
  } catch (const mds::error& e) {
    if (signals.received() == 0) throw;
    std::string what = "the copy was stopped by a signal; started again, it goes on";
    if (e.code() != mds::errc::canceled) what += "; before that: " + std::string(e.what());
    throw interrupted(signals.received(), what);
  }
}

}  // namespace

void add_copy(CLI::App& program) {
  auto args = std::make_shared<copy_arguments>();
  CLI::App* const command = program.add_subcommand(
      "copy",
      "Copy an object or a directory between any two stores; a killed copy can be continued");
  command->add_option("urls", args->urls, "Source and destination")->required()->type_name("URL");
  command
      ->add_option("--list", args->list, "Copy the URLs in this file, a line each, by their keys")
      ->type_name("FILE");
  command
      ->add_option("--compare", args->compare,
                   "What lies at the destination is left if it has the same size and, as far as "
                   "stores tell hashes and local files can be read, the same bytes (hash); or if "
                   "it has the same size (size). skipped_by_size counts what was left for its "
                   "size alone")
      ->type_name("size|hash")
      ->capture_default_str()
      ->check(CLI::IsMember({"size", "hash"}));
  command->add_flag("--verify", args->verify,
                    "Compare each object again when it was copied, as --compare says");
  command->add_option("--jobs", args->jobs, "Objects at a time")
      ->capture_default_str()
      ->check(CLI::Range(1U, 1024U));
  add_patience(*command, args->patience);
  command->callback([args] { copy(*args); });
}

}  // namespace cli
