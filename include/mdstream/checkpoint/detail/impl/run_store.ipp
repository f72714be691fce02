#pragma once

#include <mdstream/async/detail/start_thread.hpp>
#include <mdstream/checkpoint/detail/run_store.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <atomic>
#include <thread>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void in_parallel(std::size_t count, std::size_t threads,
                                 const std::function<void(std::size_t)>& one) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      try {
        one(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next.store(count, std::memory_order_relaxed);
      }
    }
  };
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < std::min(count, threads)) others.push_back(start_thread(work));
  } catch (...) {  // with those that there are
  }
  work();
  for (std::thread& each : others) each.join();
  if (failure) std::rethrow_exception(failure);
}

MDSTREAM_INLINE run_store::run_store(opened_store store, retry_policy policy, warning_function warn,
                                     runtime* threads)
    : store_(std::move(store)),
      policy_(policy),
      budget_(retry_budget::of_many(),
              tells_of_trouble(std::move(warn), "checkpoints", policy.patience)) {
  if (threads != nullptr) async_ = store_.on(*threads);
}

MDSTREAM_INLINE void run_store::read(const std::string& key, std::uint64_t offset,
                                     mutable_bytes into) {
  if (again([&] { return store_.read(key, offset, into); }) == into.size()) return;
  throw error(errc::corrupt, diagnostics{.what = "the file ends before byte " +
                                                 std::to_string(offset + into.size()),
                                         .url = url(key)});
}

MDSTREAM_INLINE std::optional<std::uint64_t> run_store::size(const std::string& key) {
  return again([&]() -> std::optional<std::uint64_t> {
    try {
      return store_.size(key);
    } catch (const error& e) {
      if (e.code() == errc::not_found) return std::nullopt;
      throw;
    }
  });
}

MDSTREAM_INLINE std::optional<std::string> run_store::find(const std::string& key) {
  return again([&]() -> std::optional<std::string> {
    try {
      const auto bytes = read_all(store_, key);
      return std::string(as_text(bytes));
    } catch (const error& e) {
      if (e.code() == errc::not_found) return std::nullopt;
      throw;
    }
  });
}

MDSTREAM_INLINE void run_store::write(const std::string& key, bytes_view bytes) {
  again([&] {
    if (!async_ || async_->occupies_threads()) return store_.write(key, bytes);
    wait_for<>([&](diagnostics& where, auto done) {
      async_->async_write(key, bytes, stop_.get_token(), where, std::move(done));
    });
  });
}

MDSTREAM_INLINE void run_store::publish(const std::string& key, const std::string& text) {
  again([&] { store_.publish(key, as_bytes(text)); });
}

MDSTREAM_INLINE std::vector<object_info> run_store::list(const std::string& prefix) {
  return again([&] { return store_.list(prefix); });
}

MDSTREAM_INLINE void run_store::run(protocol_channel& channel, protocol made) {
  run_protocol(channel, std::move(made),
               [this](const protocol_request& request) { return perform(request); });
}

MDSTREAM_INLINE protocol_answer run_store::perform(const protocol_request& request) {
  protocol_answer out;
  try {
    carry_out(request, out);
  } catch (const std::exception&) {
    out.failure = code_of(std::current_exception());
    out.where = where_of(std::current_exception());
  }
  return out;
}

MDSTREAM_INLINE diagnostics run_store::where_of(const std::exception_ptr& failure) {
  diagnostics where;
  (void)describe_failure(failure, where, {});
  return where;
}

MDSTREAM_INLINE void run_store::carry_out(const protocol_request& request, protocol_answer& out) {
  using verb = protocol_request::verb;
  switch (request.what) {
    case verb::list: out.listing = list(request.keys[0]); return;
    case verb::read:
      out.found.resize(request.keys.size());
      return in_parallel(request.keys.size(), requests_at_once,
                         [&](std::size_t i) { out.found[i] = find(request.keys[i]); });
    case verb::write: return publish(request.keys[0], request.bytes);
    case verb::create: out.created = create(request.keys[0], request.bytes); return;
    case verb::remove:
      return in_parallel(request.keys.size(), requests_at_once,
                         [&](std::size_t i) { again([&] { store_.remove(request.keys[i]); }); });
    case verb::pause: return pause(request.pause);
  }
}

MDSTREAM_INLINE bool run_store::create(const std::string& key, const std::string& text) {
  if (async_ && async_->creates()) {
    try {
      return wait_for<bool>([&](diagnostics& where, auto done) {
        async_->async_create(key, as_bytes(text), stop_.get_token(), where, std::move(done));
      });
    } catch (const error& e) {
      if (e.code() != errc::unsupported) throw;
    }
  }
  publish(key, text);
  return true;
}

MDSTREAM_INLINE void run_store::pause(std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex_);
  (void)changed_.wait_for(lock, stop_.get_token(), time, [] { return false; });
  require_not_stopped();
}

MDSTREAM_INLINE void run_store::require_not_stopped() const {
  if (stopped()) throw error(errc::canceled, "the saver was destroyed before it had saved");
}

}  // namespace mdstream::inline v0::detail
