#pragma once

/// An object sent to a cloud's store by several calls, each repeated when a failure may pass. Needs
/// libcurl: link mdstream::curl.

#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/cloud/client.hpp>
#include <mdstream/store/detail/stops.hpp>
#include <mdstream/store/shared_retry_budget.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

/// Sends one call until it succeeds, the policy gives up or the client's budget is spent.
class repeated_call : public std::enable_shared_from_this<repeated_call> {
 public:
  using handler = unique_function<void(std::error_code, net::http_response, const diagnostics&)>;

  repeated_call(cloud_client client, retry_policy retry, std::function<cloud_call()> make,
                std::stop_token stop, handler done,
                std::shared_ptr<cloud_client::upload_gate> gate = nullptr)
      : client_(std::move(client)),
        made_(retry, client_.budget()),
        make_(std::move(make)),
        stop_(std::move(stop)),
        done_(std::move(done)),
        gate_(std::move(gate)) {}

  void send() {
    where_ = {};
    std::optional<cloud_call> call;
    try {
      call = make_();
    } catch (const error& e) {
      where_ = e.where();
      return take(e.code(), {});
    }
    if (!gate_) {
      return client_.async_send(
          *std::move(call), stop_, where_,
          [self = shared_from_this()](std::error_code code, net::http_response answer) {
            self->take(code, std::move(answer));
          });
    }
    gate_->begin(stop_, [self = shared_from_this(), call](std::optional<ticket> let_in) {
      if (!let_in) return self->take(errc::canceled, {});
      self->client_.async_send(*call, self->stop_, self->where_,
                               [self, let_in](std::error_code code, net::http_response answer) {
                                 self->gate_->end(*let_in, code);
                                 self->take(code, std::move(answer));
                               });
    });
  }

 private:
  using ticket = cloud_client::upload_gate::ticket;

  void take(std::error_code code, net::http_response answer) {
    if (!code) made_.succeeded();
    if (code && !stop_.stop_requested()) {
      if (const auto pause = made_.pause_after(code, where_)) {
        return client_.threads().after(
            *pause, stop_, [self = shared_from_this()](std::error_code) { self->send(); });
      }
    }
    done_(code, std::move(answer), where_);
  }

  const cloud_client client_;
  call_attempts made_;
  const std::function<cloud_call()> make_;
  const std::stop_token stop_;
  handler done_;
  const std::shared_ptr<cloud_client::upload_gate> gate_;
  diagnostics where_{};
};

/// The calls of an upload in parts. Functions may throw `mdstream::error`, which fails the upload.
struct upload_steps {
  using answer_function = std::function<void(const net::http_response&)>;

  std::function<cloud_call()> begin{};  ///< unset: there is none
  answer_function begun{};
  /// The call for part `number`, which lies at `offset`, and its answer.
  std::function<cloud_call(std::size_t number, std::uint64_t offset, bytes_view part)> part{};
  std::function<void(std::size_t number, std::uint64_t offset, bytes_view part,
                     const net::http_response&)>
      took{};
  std::function<cloud_call()> finish{};  ///< unset: the last part is the end
  std::function<cloud_call()> abort{};   ///< unset: what was sent goes by itself
  /// Whether the finish failed because of another object that was not to be replaced. The upload is
  /// aborted then, and has not failed.
  std::function<bool(const net::http_response&)> stands_back{};
  /// Where the finish had no answer, found no upload, or when it was repeated another object: asks
  /// for the object, and whether it is the uploaded one. An answer that was lost may have been of a
  /// finish that came.
  std::function<cloud_call()> look{};
  std::function<bool(const net::http_response&)> is_it{};
};

struct upload_plan {
  std::uint64_t part_bytes = 16 << 20;
  std::uint64_t most_parts = 10'000;
  unsigned parallel = 4;
  retry_policy retry = patient_parts;

  [[nodiscard]] std::uint64_t part_size(std::uint64_t object) const noexcept {
    const std::uint64_t least = (object + most_parts - 1) / most_parts;
    return std::max({part_bytes, std::uint64_t{1}, least});
  }
};

/// Ends an upload that failed, and tells `then` when that was tried. After a stop the caller waits
/// for it, so it is tried once.
inline void send_abort(const cloud_client& client, retry_policy retry,
                       std::function<cloud_call()> make, bool once, unique_function<void()> then) {
  if (once) retry.attempts = 1;
  std::make_shared<repeated_call>(
      client, retry,
      [make = std::move(make), once] {
        cloud_call call = make();
        if (once) call.most_time = std::chrono::seconds(5);
        return call;
      },
      std::stop_token(),
      [then = std::move(then)](std::error_code, const net::http_response&,
                               const diagnostics&) mutable { then(); })
      ->send();
}

/// One upload on its way; keeps itself until it completes. One that fails or is stopped is aborted,
/// and is not to be repeated as a whole, because what may pass has been repeated part by part, but
/// where its end was refused for what only another upload mends (`cloud_refusal::begins_anew`).
class part_upload : public std::enable_shared_from_this<part_upload> {
 public:
  part_upload(cloud_client client, upload_plan plan, upload_steps steps, bytes_view bytes,
              std::stop_token stop, diagnostics& where, store_handler<> done)
      : client_(std::move(client)),
        plan_(plan),
        steps_(std::move(steps)),
        bytes_(bytes),
        part_size_(plan.part_size(bytes.size())),
        parts_(static_cast<std::size_t>((bytes.size() + part_size_ - 1) / part_size_)),
        stop_(std::move(stop)),
        where_(where),
        done_(std::move(done)) {}

  void begin() {
    give_up_.emplace(stop_, mdstream::detail::passes_stop{inner_stop_});
    if (!steps_.begin) return start_parts();
    send(steps_.begin,
         [self = shared_from_this()](std::error_code code, const net::http_response& answer,
                                     const diagnostics& about) {
           if (self->took(code, about, [&] { self->steps_.begun(answer); }))
             return self->start_parts();
           self->complete();
         });
  }

 private:
  void send(std::function<cloud_call()> make, repeated_call::handler then) {
    std::make_shared<repeated_call>(client_, plan_.retry, std::move(make), inner_stop_.get_token(),
                                    std::move(then), client_.uploads())
        ->send();
  }

  /// Whether a call succeeded and its answer is what it has to be; keeps the first failure.
  template <class F>
  bool took(std::error_code code, diagnostics about, F read) {
    if (!code) {
      try {
        read();
        return true;
      } catch (const error& e) {
        code = e.code();
        about = e.where();
      }
    }
    const std::lock_guard lock(mutex_);
    if (!failure_) {
      failure_ = code;
      failure_where_ = std::move(about);
    }
    return false;
  }

  void start_parts() {
    for (unsigned i = 0; i < std::max(plan_.parallel, 1U); ++i) start_part();
  }

  /// The next part, if there is one and all is well.
  void start_part() {
    std::size_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      if (failure_ || next_ == parts_) return;
      number = next_++;
      ++under_way_;
    }
    const std::uint64_t offset = number * part_size_;
    const bytes_view part = bytes_.subspan(
        static_cast<std::size_t>(offset),
        static_cast<std::size_t>(std::min<std::uint64_t>(part_size_, bytes_.size() - offset)));
    send([self = shared_from_this(), number, offset,
          part] { return self->steps_.part(number, offset, part); },
         [self = shared_from_this(), number, offset, part](
             std::error_code code, const net::http_response& answer, const diagnostics& about) {
           const bool good =
               self->took(code, about, [&] { self->steps_.took(number, offset, part, answer); });
           self->part_ended(good);
         });
  }

  void part_ended(bool good) {
    bool all_over = false, failed = false;
    {
      const std::lock_guard lock(mutex_);
      --under_way_;
      failed = static_cast<bool>(failure_);
      all_over = under_way_ == 0 && (failed || next_ == parts_);
    }
    if (!good) inner_stop_.request_stop();
    if (!all_over) return start_part();
    if (failed) return abort();
    if (!steps_.finish) return complete();
    finish();
  }

  void finish() {
    const auto make = [self = shared_from_this()] {
      ++self->finishes_;
      return self->steps_.finish();
    };
    send(make, [self = shared_from_this()](std::error_code code, const net::http_response& answer,
                                           const diagnostics& about) {
      if (!code) return self->complete();
      const bool may_have_come = code == errc::not_found || code == errc::unavailable ||
                                 (answer.status == 412 && self->finishes_ > 1);
      if (self->steps_.look && may_have_come) return self->look(code, answer, about);
      self->end_failed(code, answer, about);
    });
  }

  void look(std::error_code failure, net::http_response refused, diagnostics why) {
    send(steps_.look,
         [self = shared_from_this(), failure, refused = std::move(refused), why = std::move(why)](
             std::error_code code, const net::http_response& answer, const diagnostics&) {
           if (!code && self->steps_.is_it(answer)) return self->complete();
           self->end_failed(failure, refused, why);
         });
  }

  void end_failed(std::error_code code, const net::http_response& answer,
                  const diagnostics& about) {
    const bool stands_back = steps_.stands_back && steps_.stands_back(answer);
    if (!stands_back) (void)took(code, about, [] {});
    begins_anew_ = client_.api().refusal(answer).begins_anew;
    abort();
  }

  void abort() {
    if (!steps_.abort) return complete();
    send_abort(
        client_, plan_.retry, [self = shared_from_this()] { return self->steps_.abort(); },
        stop_.stop_requested(), [self = shared_from_this()] { self->complete(); });
  }

  void complete() {
    give_up_.reset();
    std::error_code code = failure_;
    if (code) {
      where_ = failure_where_;
      where_.is_final = !begins_anew_;
    }
    if (code && stop_.stop_requested()) code = errc::canceled;
    done_(code);
  }

  const cloud_client client_;
  const upload_plan plan_;
  const upload_steps steps_;
  const bytes_view bytes_;
  const std::uint64_t part_size_;
  const std::size_t parts_;
  const std::stop_token stop_;
  diagnostics& where_;
  store_handler<> done_;
  std::stop_source inner_stop_;
  std::optional<std::stop_callback<mdstream::detail::passes_stop>> give_up_;
  unsigned finishes_ = 0;
  bool begins_anew_ = false;

  std::mutex mutex_;  // over what follows
  std::size_t next_ = 0, under_way_ = 0;
  std::error_code failure_;
  diagnostics failure_where_;
};

}  // namespace mdstream::inline v0::store
