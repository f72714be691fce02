#pragma once

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/blocking.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::error_code describe_failure(const std::exception_ptr& failure,
                                                 diagnostics& where, std::string url) {
  try {
    std::rethrow_exception(failure);
  } catch (const error& e) {
    where = e.where();
  } catch (const std::exception& e) {
    where = {.what = "the store failed", .url = std::move(url), .cause = e.what()};
  } catch (...) {
    where = {.what = "the store failed", .url = std::move(url)};
  }
  return code_of(failure);
}

/// Makes the calls of a blocking store on the pool.
class pooled_store final : public store_interface {
 public:
  pooled_store(runtime& threads, std::shared_ptr<const blocking_interface> store)
      : threads_(threads), store_(std::move(store)) {}

  MDSTREAM_INLINE void start(store_call call, std::stop_token stop, diagnostics& where,
                             answer_handler done) const override;
  [[nodiscard]] std::string url(std::string_view key) const override { return store_->url(key); }
  [[nodiscard]] store_abilities abilities() const override {
    return {.creates = store_->creates(), .occupies_threads = true};
  }

 private:
  [[nodiscard]] static store_answer make(const blocking_interface& store, store_call& call,
                                         const std::stop_token& stop);

  runtime& threads_;
  std::shared_ptr<const blocking_interface> store_;
};

MDSTREAM_INLINE void pooled_store::start(store_call call, std::stop_token stop, diagnostics& where,
                                         answer_handler done) const {
  if (call.take || (call.create_only && !store_->creates()))
    return refuse_call(call, store_->url(call.key), where, std::move(done));
  threads_.post([store = store_, call = std::move(call), stop = std::move(stop), &where,
                 done = std::move(done)]() mutable {
    store_answer answer;
    std::error_code code;
    try {
      answer = make(*store, call, stop);
    } catch (...) {
      code =
          describe_failure(std::current_exception(), where, [&] { return store->url(call.key); });
    }
    done(code, std::move(answer));
  });
}

/// A read is made in parts, between which a stop is seen.
MDSTREAM_INLINE store_answer pooled_store::make(const blocking_interface& store, store_call& call,
                                                const std::stop_token& stop) {
  constexpr std::size_t part_bytes = std::size_t{8} << 20;
  const mutable_bytes into = call.into;
  store_answer answer;
  std::size_t done = 0;
  do {
    if (stop.stop_requested()) throw error(errc::canceled, "the call was cancelled");
    call.into = into.subspan(done, std::min(part_bytes, into.size() - done));
    answer = store.make(call, stop);
    done += answer.bytes;
    call.offset += answer.bytes;
  } while (done < into.size() && answer.bytes == call.into.size());
  answer.bytes = done;
  return answer;
}

MDSTREAM_INLINE any_async_store on_pool(runtime& threads,
                                        std::shared_ptr<const blocking_interface> store) {
  return any_async_store(std::make_shared<const pooled_store>(threads, std::move(store)));
}

}  // namespace mdstream::inline v0::detail
