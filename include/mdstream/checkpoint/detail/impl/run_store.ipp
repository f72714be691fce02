#pragma once

#include <mdstream/async/runtime.hpp>
#include <mdstream/checkpoint/detail/run_store.hpp>
#include <mdstream/checkpoint/detail/sealed_json.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <atomic>
#include <thread>
#include <tuple>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::vector<opened_store> places_of(opened_store run,
                                                    const std::vector<opened_store>& mirrors) {
  std::vector<opened_store> all{std::move(run)};
  all.insert(all.end(), mirrors.begin(), mirrors.end());
  return all;
}

MDSTREAM_INLINE void call_stop::require_none() const {
  if (requested()) throw error(errc::canceled, "the saver was destroyed before it had saved");
}

MDSTREAM_INLINE void call_stop::pause(std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex_);
  (void)changed_.wait_for(lock, token(), time, [] { return false; });
  require_none();
}

MDSTREAM_INLINE run_place::run_place(opened_store store, retry_policy policy,
                                     shared_retry_budget budget, call_stop& stop, runtime* threads)
    : store_(std::move(store)), policy_(policy), budget_(std::move(budget)), stop_(stop) {
  if (threads != nullptr) async_ = store_.on(*threads);
}

MDSTREAM_INLINE void run_place::read(const std::string& key, std::uint64_t offset,
                                     mutable_bytes into) {
  if (again([&] { return store_.read(key, offset, into); }) == into.size()) return;
  throw error(errc::corrupt, diagnostics{.what = "the file ends before byte " +
                                                 std::to_string(offset + into.size()),
                                         .url = url(key)});
}

MDSTREAM_INLINE std::optional<std::uint64_t> run_place::size(const std::string& key) {
  return again([&]() -> std::optional<std::uint64_t> {
    try {
      return store_.size(key);
    } catch (const error& e) {
      if (e.code() == errc::not_found) return std::nullopt;
      throw;
    }
  });
}

MDSTREAM_INLINE std::optional<std::string> run_place::find(const std::string& key) {
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

MDSTREAM_INLINE void run_place::write(const std::string& key, bytes_view bytes) {
  again([&] {
    if (!async_ || async_->occupies_threads()) return store_.write(key, bytes);
    wait_for<>([&](diagnostics& where, auto done) {
      async_->async_write(key, bytes, stop_.token(), where, std::move(done));
    });
  });
}

MDSTREAM_INLINE void run_place::publish(const std::string& key, const std::string& text) {
  again([&] { store_.publish(key, as_bytes(text)); });
}

MDSTREAM_INLINE bool run_place::create(const std::string& key, const std::string& text) {
  if (async_ && async_->creates()) {
    try {
      return wait_for<bool>([&](diagnostics& where, auto done) {
        async_->async_create(key, as_bytes(text), stop_.token(), where, std::move(done));
      });
    } catch (const error& e) {
      if (e.code() != errc::unsupported) throw;
    }
  }
  publish(key, text);
  return true;
}

MDSTREAM_INLINE std::vector<object_info> run_place::list(const std::string& prefix) {
  return again([&] { return store_.list(prefix); });
}

MDSTREAM_INLINE void run_place::remove(const std::string& key) {
  again([&] { store_.remove(key); });
}

MDSTREAM_INLINE run_store::run_store(std::vector<opened_store> stores, retry_policy policy,
                                     warning_function warn, runtime* threads)
    : warn_(std::move(warn)),
      budget_(retry_budget::of_many(), tells_of_trouble(warn_, "checkpoints", policy.patience)) {
  for (opened_store& each : stores)
    places_.emplace_back(std::move(each), policy, budget_, stop_, threads);
}

MDSTREAM_INLINE void run_store::tell_failure(run_place& place, const error& why) {
  if (places_.size() == 1 || stopped()) return;
  if (place.set_failing(true) && warn_)
    warn_("the checkpoints do without " + place.url("") + " until it works again: " + why.what());
}

MDSTREAM_INLINE void run_store::tell_skipped(const run_place& place, const std::string& key,
                                             const std::string& why) {
  if (places_.size() > 1 && warn_) warn_(place.url(key) + " is passed over: " + why);
}

template <class Call>
void run_store::for_all(const Call& one) {
  std::exception_ptr failure;
  bool done = false;
  for (run_place& place : places_) {
    try {
      one(place);
      place.set_failing(false);
      done = true;
    } catch (const error& e) {
      tell_failure(place, e);
      if (!failure) failure = std::current_exception();
    }
  }
  if (!done) std::rethrow_exception(failure);
}

template <class Call>
auto run_store::first_of(const Call& one) -> std::invoke_result_t<const Call&, run_place&> {
  std::exception_ptr failure;
  for (run_place& place : places_) {
    try {
      if (auto found = one(place)) return found;
    } catch (const error& e) {
      tell_failure(place, e);
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);  // it may have it: a failure is not "none"
  return std::nullopt;
}

MDSTREAM_INLINE bool run_store::read_right(const std::string& key, std::uint64_t offset,
                                           mutable_bytes into, const std::function<bool()>& right) {
  std::exception_ptr failure, missing;
  bool wrong = false;
  for (std::size_t attempt = 0; attempt <= places_.size(); ++attempt) {
    run_place& place = places_[attempt % places_.size()];
    std::string why = "its bytes do not have their checksum";
    try {
      place.read(key, offset, into);
      if (right()) return true;
      wrong = true;
    } catch (const error& e) {
      if (places_.size() == 1 && e.code() != errc::corrupt) throw;
      if (e.code() == errc::corrupt) {
        wrong = true;
      } else if (e.code() == errc::not_found) {
        missing = std::current_exception();
      } else {
        tell_failure(place, e);
        failure = std::current_exception();
        continue;
      }
      why = e.where().what;
    }
    tell_skipped(place, key, why);
  }
  if (failure) std::rethrow_exception(failure);  // that store may have them
  if (!wrong) std::rethrow_exception(missing);
  return false;
}

MDSTREAM_INLINE void run_store::read(const std::string& key, std::uint64_t offset,
                                     mutable_bytes into) {
  (void)first_of([&](run_place& place) {
    place.read(key, offset, into);
    return std::optional(true);
  });
}

MDSTREAM_INLINE std::optional<std::uint64_t> run_store::size(const std::string& key) {
  return first_of([&](run_place& place) { return place.size(key); });
}

MDSTREAM_INLINE std::optional<std::string> run_store::find(const std::string& key) {
  if (places_.size() == 1) return places_[0].find(key);
  std::optional<std::string> damaged;
  auto found = first_of([&](run_place& place) {
    auto text = place.find(key);
    if (text && text->starts_with(seal_front) && !has_seal(*text)) {
      tell_skipped(place, key, "it does not have its checksum");
      damaged = std::exchange(text, std::nullopt);
    }
    return text;
  });
  return found ? found : damaged;
}

MDSTREAM_INLINE void run_store::write(const std::string& key, bytes_view bytes) {
  for_all([&](run_place& place) { place.write(key, bytes); });
}

MDSTREAM_INLINE void run_store::publish(const std::string& key, const std::string& text) {
  for_all([&](run_place& place) { place.publish(key, text); });
}

MDSTREAM_INLINE std::vector<object_info> run_store::list(const std::string& prefix) {
  if (places_.size() == 1) return places_[0].list(prefix);
  std::vector<object_info> out;
  const auto add = [&](run_place& place) {
    const auto here = place.list(prefix);
    out.insert(out.end(), here.begin(), here.end());
  };
  if (all_must_answer_)
    for (run_place& place : places_) add(place);
  else
    for_all(add);
  const auto place_of = [](const object_info& each) { return std::tie(each.key, each.bytes); };
  std::sort(out.begin(), out.end(),
            [&](const object_info& a, const object_info& b) { return place_of(a) < place_of(b); });
  const auto same = [&](const object_info& a, const object_info& b) {
    return place_of(a) == place_of(b);
  };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
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
  const std::vector<std::string>& keys = request.keys;
  switch (request.what) {
    case verb::list: out.listing = list(keys[0]); return;
    case verb::read:
      out.found.resize(keys.size());
      return in_parallel(keys.size(), requests_at_once,
                         [&](std::size_t i) { out.found[i] = find(keys[i]); });
    case verb::write: return publish(keys[0], request.bytes);
    case verb::create:
      return for_all([&](run_place& place) {
        if (!place.create(keys[0], request.bytes)) out.created = false;
      });
    case verb::remove:
      return in_parallel(keys.size(), requests_at_once, [&](std::size_t i) {
        for_all([&](run_place& place) { place.remove(keys[i]); });
      });
    case verb::pause: return stop_.pause(request.pause);
  }
}

}  // namespace mdstream::inline v0::detail
