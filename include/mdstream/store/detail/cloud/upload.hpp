#pragma once

/// An object sent to a cloud's store by several calls, each repeated when a failure may pass. Needs
/// libcurl: link mdstream::curl.

#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>
#include <mdstream/store/detail/stops.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

/// Sends one call until it succeeds, the policy gives up or the client's budget is spent.
class repeated_call : public std::enable_shared_from_this<repeated_call> {
 public:
  using handler = unique_function<void(std::error_code, net::http_response, const diagnostics&)>;
  /// Whether a call that failed so may be sent again; unset: what the policy repeats.
  using choice = std::function<bool(const net::http_response&)>;

  repeated_call(cloud_client client, retry_policy retry, std::function<cloud_call()> make,
                std::stop_token stop, handler done, std::shared_ptr<call_gate> gate = nullptr,
                choice may_repeat = {});

  void send();

 private:
  using ticket = call_gate::ticket;

  void take(std::error_code code, net::http_response answer);

  const cloud_client client_;
  call_attempts made_;
  const std::function<cloud_call()> make_;
  const std::stop_token stop_;
  handler done_;
  const std::shared_ptr<call_gate> gate_;
  const choice may_repeat_;
  diagnostics where_{};
};

/// The calls of an upload in parts. Functions may throw `mdstream::error`, which fails the upload.
struct upload_steps {
  using answer_function = std::function<void(const net::http_response&)>;

  std::function<cloud_call()> begin{};  ///< unset: there is none
  answer_function begun{};
  /// Asks for what the call for part `number` needs, and takes the answer; unset: it needs nothing.
  std::function<cloud_call(std::size_t number)> prepare{};
  std::function<void(std::size_t number, const net::http_response&)> prepared{};
  /// Whether a part failed because what was prepared has expired: it is prepared once more.
  std::function<bool(const net::http_response&)> has_expired{};
  /// The call for part `number`, which lies at `offset`, and its answer.
  std::function<cloud_call(std::size_t number, std::uint64_t offset, bytes_view part)> part{};
  std::function<void(std::size_t number, std::uint64_t offset, bytes_view part,
                     const net::http_response&)>
      took{};
  std::function<cloud_call()> finish{};  ///< unset: the last part is the end
  std::function<cloud_call()> abort{};   ///< unset: what was sent goes by itself
  /// The call that aborts, if the first one only asks for it.
  std::function<cloud_call(const net::http_response&)> abort_as{};
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

  [[nodiscard]] std::uint64_t part_size(std::uint64_t object) const noexcept;
};

/// Ends an upload that failed, and gives `then` the answer when that was tried. After a stop the
/// caller waits for it, so it is tried once.
void send_abort(const cloud_client& client, retry_policy retry, std::function<cloud_call()> make,
                bool once, unique_function<void(std::error_code, const net::http_response&)> then);

/// One upload on its way; keeps itself until it completes. One that fails or is stopped is aborted,
/// and is not to be repeated as a whole, because what may pass has been repeated part by part, but
/// where its end was refused for what only another upload mends (`cloud_refusal::begins_anew`).
class part_upload : public std::enable_shared_from_this<part_upload> {
 public:
  part_upload(cloud_client client, upload_plan plan, upload_steps steps, bytes_view bytes,
              std::stop_token stop, diagnostics& where, store_handler<> done);

  void begin();

 private:
  void send(std::function<cloud_call()> make, repeated_call::handler then);

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

  void start_parts();

  struct one_part {
    std::size_t number = 0;
    std::uint64_t offset = 0;
    bytes_view bytes{};
    bool is_again = false;  ///< what it needs was prepared twice
  };

  /// The next part, if there is one and all is well.
  void start_part();

  void prepare(one_part part);

  void send_part(one_part part);

  void part_ended(bool good);

  void finish();

  void look(std::error_code failure, net::http_response refused, diagnostics why);

  void end_failed(std::error_code code, const net::http_response& answer, const diagnostics& about);

  void abort();

  void complete();

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

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/cloud/upload.ipp>
#endif
