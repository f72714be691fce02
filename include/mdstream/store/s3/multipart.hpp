#pragma once

/// An object uploaded in parts, several at a time. Needs libcurl and OpenSSL: link mdstream::s3.

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/s3/client.hpp>
#include <mdstream/store/s3/part_tags.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

/// How an upload is cut and repeated.
struct s3_upload_plan {
  std::uint64_t part_bytes = 0;
  unsigned parallel = 1;
  retry_policy retry{};

  /// Parts of this many bytes: S3 takes 10,000 of them, all but the last equal.
  [[nodiscard]] std::uint64_t part_size(std::uint64_t object) const noexcept {
    constexpr std::uint64_t most_parts = 10'000;
    return std::max({part_bytes, std::uint64_t{1}, (object + most_parts - 1) / most_parts});
  }
};

/// One upload on its way; keeps itself until it completes. An upload that fails or is stopped is
/// aborted, so that its parts are not kept and charged for. Completes with whether the object was
/// written: false only with `headers_of_end` that ask for it (If-None-Match) and another object
/// there.
class s3_multipart : public std::enable_shared_from_this<s3_multipart> {
 public:
  s3_multipart(runtime& threads, s3_client client, s3_upload_plan plan, std::string key,
               bytes_view bytes, std::vector<net::name_value> headers_of_begin,
               std::vector<net::name_value> headers_of_end, std::stop_token stop,
               diagnostics& where, store_handler<bool> done)
      : threads_(threads),
        client_(std::move(client)),
        plan_(plan),
        key_(std::move(key)),
        bytes_(bytes),
        part_size_(plan.part_size(bytes.size())),
        begin_headers_(std::move(headers_of_begin)),
        end_headers_(std::move(headers_of_end)),
        stop_(std::move(stop)),
        where_(where),
        done_(std::move(done)),
        tags_(static_cast<std::size_t>((bytes.size() + part_size_ - 1) / part_size_)) {}

  void begin() {
    give_up_.emplace(stop_, [this] { parts_stop_.request_stop(); });
    auto one = attempt_of({.method = "POST",
                           .key = key_,
                           .query = {{"uploads", ""}},
                           .headers = begin_headers_,
                           .body = bytes_view()});
    one->then = [self = shared_from_this()](std::error_code code, net::http_response answer,
                                            diagnostics& about) {
      if (!code) {
        try {
          self->id_ = parse_s3_upload_id(answer.text, {.url = self->client_.url(self->key_)});
        } catch (const error& e) {
          about = e.where();
          code = e.code();
        }
      }
      if (code) return self->complete(code, about, false);
      self->start_parts();
    };
    send(one);
  }

 private:
  /// One request of the upload and what comes after it; repeated as the plan says.
  struct attempt {
    s3_call call;
    std::stop_token stop;
    std::function<void(std::error_code, net::http_response, diagnostics&)> then;
    diagnostics where{};
    unsigned failed = 0;
    bool once = false;
  };

  std::shared_ptr<attempt> attempt_of(s3_call call) {
    return std::make_shared<attempt>(attempt{std::move(call), parts_stop_.get_token(), {}});
  }

  void send(const std::shared_ptr<attempt>& one) {
    one->where = {};
    client_.async_send(
        one->call, one->stop, one->where,
        [self = shared_from_this(), one](std::error_code code, net::http_response answer) {
          self->take_answer(one, code, std::move(answer));
        });
  }

  void take_answer(const std::shared_ptr<attempt>& one, std::error_code code,
                   net::http_response answer) {
    if (code) {
      ++one->failed;
      if (const auto pause = pause_before(*one, code, answer.status)) {
        return threads_.after(*pause, one->stop, [self = shared_from_this(), one](std::error_code) {
          self->send(one);  // a stop that came meanwhile ends this attempt at once
        });
      }
    }
    one->then(code, std::move(answer), one->where);
  }

  /// A condition that is not met will not be met, and no service is waited for longer than the plan
  /// says.
  std::optional<std::chrono::nanoseconds> pause_before(const attempt& one, std::error_code code,
                                                       int status) {
    if (one.stop.stop_requested() || one.once || status == 412) return std::nullopt;
    double chance = 0;
    {
      const std::lock_guard lock(mutex_);
      chance = std::uniform_real_distribution<>()(random_);
    }
    const auto pause = pause_before_retry(plan_.retry, one.failed, code, chance);
    if (!pause || !one.where.retry_after) return pause;
    return std::clamp<std::chrono::nanoseconds>(*one.where.retry_after, *pause,
                                                std::max(*pause, plan_.retry.longest));
  }

  void start_parts() {
    for (unsigned i = 0; i < std::max(plan_.parallel, 1U); ++i) start_part();
  }

  /// The next part, if there is one and all is well; the end, once none is under way.
  void start_part() {
    std::size_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      if (failure_ || next_ == tags_.size()) return;
      number = next_++;
      ++under_way_;
    }
    const std::uint64_t offset = number * part_size_;
    const bytes_view part = bytes_.subspan(
        static_cast<std::size_t>(offset),
        static_cast<std::size_t>(std::min<std::uint64_t>(part_size_, bytes_.size() - offset)));
    auto one = attempt_of({.method = "PUT",
                           .key = key_,
                           .query = {{"partNumber", std::to_string(number + 1)}, {"uploadId", id_}},
                           .body = part});
    one->then = [self = shared_from_this(), number](
                    std::error_code code, const net::http_response& answer, diagnostics& about) {
      self->part_done(number, code, answer, about);
    };
    send(one);
  }

  void part_done(std::size_t number, std::error_code code, const net::http_response& answer,
                 diagnostics& about) {
    const auto tag = answer.headers.find("ETag");
    if (!code && !tag) {
      about = {.what = "S3 took a part of an upload without an ETag", .url = client_.url(key_)};
      code = errc::corrupt;
    }
    bool all_over = false;
    {
      const std::lock_guard lock(mutex_);
      if (!code) tags_[number] = *tag;
      if (code && !failure_) {
        failure_ = code;
        failure_where_ = about;
      }
      --under_way_;
      all_over = under_way_ == 0 && (failure_ || next_ == tags_.size());
    }
    if (code) parts_stop_.request_stop();
    if (!all_over) return start_part();
    if (failure_) return abort();
    finish();
  }

  void finish() {
    message_ = s3_parts_message(tags_);
    auto one = attempt_of({.method = "POST",
                           .key = key_,
                           .query = {{"uploadId", id_}},
                           .headers = end_headers_,
                           .body = as_bytes(message_),
                           .ends_late = true});
    one->then = [self = shared_from_this(), one_weak = std::weak_ptr(one)](
                    std::error_code code, const net::http_response& answer, diagnostics& about) {
      const auto same = one_weak.lock();
      self->take_end(same ? same->failed : 0, code, answer, about);
    };
    send(one);
  }

  void take_end(unsigned failed, std::error_code code, const net::http_response& answer,
                diagnostics& about) {
    if (answer.status == 412 && !end_headers_.empty()) return stand_back();
    if (code == errc::not_found && failed > 1) return look_for_object(about);
    if (!code) return complete({}, about, true);
    failure_ = code;
    failure_where_ = about;
    abort();
  }

  /// There is another object already, which the caller did not want to replace.
  void stand_back() { abort(); }

  /// The upload's id is gone after an answer that was lost: it was completed, if the object is it.
  /// Another object of the same size is not; where ETags do not tell, the caller has to try again.
  void look_for_object(const diagnostics& refused) {
    failure_ = errc::not_found;
    failure_where_ = refused;
    auto one = attempt_of({.method = "HEAD", .key = key_});
    one->then = [self = shared_from_this()](std::error_code code, const net::http_response& answer,
                                            diagnostics& about) {
      const auto length = answer.headers.find("Content-Length"), tag = answer.headers.find("ETag");
      const auto ours = tag_of_parts(self->tags_);
      const bool there = !code && length && *length == std::to_string(self->bytes_.size()) && tag &&
                         ours && *tag == *ours;
      if (there) return self->complete({}, about, true);
      self->abort();
    };
    send(one);
  }

  void abort() {
    auto one = attempt_of({.method = "DELETE", .key = key_, .query = {{"uploadId", id_}}});
    one->stop = {};  // also after a stop; the caller waits for it then, so it is tried once
    one->once = stop_.stop_requested();
    if (one->once) one->call.most_time = std::chrono::seconds(5);
    one->then = [self = shared_from_this()](std::error_code, const net::http_response&,
                                            diagnostics&) {
      self->complete(self->failure_, self->failure_where_, false);
    };
    send(one);
  }

  void complete(std::error_code code, const diagnostics& about, bool written) {
    give_up_.reset();
    if (code) where_ = about;
    if (code && stop_.stop_requested()) code = errc::canceled;
    done_(code, written);
  }

  runtime& threads_;
  const s3_client client_;
  const s3_upload_plan plan_;
  const std::string key_;
  const bytes_view bytes_;
  const std::uint64_t part_size_;
  const std::vector<net::name_value> begin_headers_, end_headers_;
  const std::stop_token stop_;
  diagnostics& where_;
  store_handler<bool> done_;
  std::string id_{}, message_{};
  std::stop_source parts_stop_;
  std::optional<std::stop_callback<std::function<void()>>> give_up_;

  std::mutex mutex_;  // over what follows
  std::minstd_rand random_{std::random_device{}()};
  std::vector<std::string> tags_;
  std::size_t next_ = 0, under_way_ = 0;
  std::error_code failure_;
  diagnostics failure_where_;
};

}  // namespace mdstream::inline v0::store
