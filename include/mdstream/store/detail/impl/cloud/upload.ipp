#pragma once

#include <mdstream/store/detail/cloud/upload.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE repeated_call::repeated_call(cloud_client client, retry_policy retry,
                                             std::function<cloud_call()> make, std::stop_token stop,
                                             handler done, std::shared_ptr<call_gate> gate,
                                             choice may_repeat)
    : client_(std::move(client)),
      made_(retry, client_.budget()),
      make_(std::move(make)),
      stop_(std::move(stop)),
      done_(std::move(done)),
      gate_(std::move(gate)),
      may_repeat_(std::move(may_repeat)) {}

MDSTREAM_INLINE void repeated_call::send() {
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

MDSTREAM_INLINE void repeated_call::take(std::error_code code, net::http_response answer) {
  if (!code) made_.succeeded();
  if (code && !stop_.stop_requested() && (!may_repeat_ || may_repeat_(answer))) {
    if (const auto pause = made_.pause_after(code, where_)) {
      return client_.threads().after(
          *pause, stop_, [self = shared_from_this()](std::error_code) { self->send(); });
    }
  }
  done_(code, std::move(answer), where_);
}

MDSTREAM_INLINE std::uint64_t upload_plan::part_size(std::uint64_t object) const noexcept {
  const std::uint64_t least = (object + most_parts - 1) / most_parts;
  return std::max({part_bytes, std::uint64_t{1}, least});
}

MDSTREAM_INLINE void send_abort(
    const cloud_client& client, retry_policy retry, std::function<cloud_call()> make, bool once,
    unique_function<void(std::error_code, const net::http_response&)> then) {
  if (once) retry.attempts = 1;
  std::make_shared<repeated_call>(
      client, retry,
      [make = std::move(make), once] {
        cloud_call call = make();
        if (once) call.most_time = std::chrono::seconds(5);
        return call;
      },
      std::stop_token(),
      [then = std::move(then)](std::error_code code, const net::http_response& answer,
                               const diagnostics&) mutable { then(code, answer); })
      ->send();
}

MDSTREAM_INLINE part_upload::part_upload(cloud_client client, upload_plan plan, upload_steps steps,
                                         bytes_view bytes, std::stop_token stop, diagnostics& where,
                                         store_handler<> done)
    : client_(std::move(client)),
      plan_(plan),
      steps_(std::move(steps)),
      bytes_(bytes),
      part_size_(plan.part_size(bytes.size())),
      parts_(static_cast<std::size_t>((bytes.size() + part_size_ - 1) / part_size_)),
      stop_(std::move(stop)),
      where_(where),
      done_(std::move(done)) {}

MDSTREAM_INLINE void part_upload::begin() {
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

MDSTREAM_INLINE void part_upload::send(std::function<cloud_call()> make,
                                       repeated_call::handler then) {
  std::make_shared<repeated_call>(client_, plan_.retry, std::move(make), inner_stop_.get_token(),
                                  std::move(then), client_.uploads())
      ->send();
}

MDSTREAM_INLINE void part_upload::start_parts() {
  for (unsigned i = 0; i < std::max(plan_.parallel, 1U); ++i) start_part();
}

MDSTREAM_INLINE void part_upload::start_part() {
  std::size_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (failure_ || next_ == parts_) return;
    number = next_++;
    ++under_way_;
  }
  const std::uint64_t offset = number * part_size_;
  const auto count = std::min<std::uint64_t>(part_size_, bytes_.size() - offset);
  prepare({number, offset,
           bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count))});
}

MDSTREAM_INLINE void part_upload::prepare(one_part part) {
  if (!steps_.prepare) return send_part(part);
  send([self = shared_from_this(), part] { return self->steps_.prepare(part.number); },
       [self = shared_from_this(), part](std::error_code code, const net::http_response& answer,
                                         const diagnostics& about) {
         const bool good =
             self->took(code, about, [&] { self->steps_.prepared(part.number, answer); });
         good ? self->send_part(part) : self->part_ended(false);
       });
}

MDSTREAM_INLINE void part_upload::send_part(one_part part) {
  send([self = shared_from_this(),
        part] { return self->steps_.part(part.number, part.offset, part.bytes); },
       [self = shared_from_this(), part](std::error_code code, const net::http_response& answer,
                                         const diagnostics& about) mutable {
         const upload_steps& steps = self->steps_;
         const bool has_expired = code && steps.has_expired && steps.has_expired(answer);
         if (has_expired && !std::exchange(part.is_again, true)) return self->prepare(part);
         self->part_ended(self->took(
             code, about, [&] { steps.took(part.number, part.offset, part.bytes, answer); }));
       });
}

MDSTREAM_INLINE void part_upload::part_ended(bool good) {
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

MDSTREAM_INLINE void part_upload::finish() {
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

MDSTREAM_INLINE void part_upload::look(std::error_code failure, net::http_response refused,
                                       diagnostics why) {
  send(steps_.look,
       [self = shared_from_this(), failure, refused = std::move(refused), why = std::move(why)](
           std::error_code code, const net::http_response& answer, const diagnostics&) {
         if (!code && self->steps_.is_it(answer)) return self->complete();
         self->end_failed(failure, refused, why);
       });
}

MDSTREAM_INLINE void part_upload::end_failed(std::error_code code, const net::http_response& answer,
                                             const diagnostics& about) {
  const bool stands_back = steps_.stands_back && steps_.stands_back(answer);
  if (!stands_back) (void)took(code, about, [] {});
  begins_anew_ = client_.api().refusal(answer).begins_anew;
  abort();
}

MDSTREAM_INLINE void part_upload::abort() {
  if (!steps_.abort) return complete();
  const bool once = stop_.stop_requested();
  send_abort(
      client_, plan_.retry, [self = shared_from_this()] { return self->steps_.abort(); }, once,
      [self = shared_from_this(), once](std::error_code code, const net::http_response& answer) {
        if (code || !self->steps_.abort_as) return self->complete();
        send_abort(
            self->client_, self->plan_.retry,
            [self, answer] { return self->steps_.abort_as(answer); }, once,
            [self](std::error_code, const net::http_response&) { self->complete(); });
      });
}

MDSTREAM_INLINE void part_upload::complete() {
  give_up_.reset();
  std::error_code code = failure_;
  if (code) {
    where_ = failure_where_;
    where_.is_final = !begins_anew_;
  }
  if (code && stop_.stop_requested()) code = errc::canceled;
  done_(code);
}

}  // namespace mdstream::inline v0::detail
