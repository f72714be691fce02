#pragma once

/// Sends calls to a cloud's store with the credentials that let them in, and once more where a
/// refusal says what was wrong with them. Needs libcurl: link mdstream::curl.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/net/http_client.hpp>
#include <mdstream/schedule/detail/adaptive_limit.hpp>
#include <mdstream/store/detail/call_gate.hpp>
#include <mdstream/store/detail/cloud/call.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>

namespace mdstream::inline v0::detail {

/// Thread-safe; copies share what was learnt. The runtime has to outlive the calls.
class cloud_client {
 public:
  using handler = store_handler<net::http_response>;

  /// `margin`: keys are asked for again so long before they expire.
  cloud_client(runtime& threads, std::shared_ptr<const cloud_api> api,
               net::http_client_options http, net::any_access keys,
               std::chrono::seconds margin = net::usual_margin);

  [[nodiscard]] const cloud_api& api() const noexcept { return *shared_->api; }
  [[nodiscard]] runtime& threads() const noexcept { return shared_->threads; }

  /// Of all that repeat the store's requests by themselves, for what they are made of: parts of
  /// uploads, pages of listings.
  [[nodiscard]] const shared_retry_budget& budget() const noexcept { return shared_->budget; }
  /// Lets in as many of an upload's requests as the store bears: to a limit of the store's
  /// calls they are one.
  [[nodiscard]] const std::shared_ptr<call_gate>& uploads() const noexcept {
    return shared_->uploads;
  }

  /// For what reads bodies before they are sent; see `net::http_client_options::body_read`.
  void body_was_read(bytes_view bytes) const;
  /// The same of one of many blocks; throws `errc::canceled` after a stop.
  void block_was_read(bytes_view block, const std::stop_token& stop) const;

  /// Completes with the credentials that let calls in, which may be none.
  void async_find_keys(std::string_view key, std::stop_token stop, diagnostics& where,
                       net::access_handler done) const;
  /// Where the credentials of the last call came from; empty before one.
  [[nodiscard]] std::string credentials() const { return shared_->source(); }
  /// The time by the service's clock, as far as it was told.
  [[nodiscard]] net::wall_clock::time_point now() const { return shared_->now(); }

  /// Completes with a 2xx answer, or with a code and what is known about the failure; the answer
  /// comes with it, where there was one. What `call` refers to stays until then.
  void async_send(cloud_call call, std::stop_token stop, diagnostics& where, handler done) const;

 private:
  struct shared {
    shared(runtime& t, std::shared_ptr<const cloud_api> a, net::http_client_options o,
           net::cached_access k);

    /// The time by the service's clock, as far as it was told.
    [[nodiscard]] net::wall_clock::time_point now() const;
    void set_time(net::wall_clock::time_point there);

    [[nodiscard]] std::string source() const;
    void note_source(const std::string& of_keys);

    void async_find_keys(std::string_view key, std::stop_token stop, diagnostics& where,
                         net::access_handler done) const;

    runtime& threads;
    const std::shared_ptr<const cloud_api> api;
    const net::http_client http;
    const net::cached_access keys;
    const shared_retry_budget budget{retry_budget::of_many()};
    const std::shared_ptr<call_gate> uploads = std::make_shared<call_gate>(adaptive_limits());

   private:
    mutable std::mutex mutex_;
    net::wall_clock::duration skew_{0};
    std::string source_;  // of the last keys
  };

  /// One call, sent again where the first answer says how.
  struct exchange : std::enable_shared_from_this<exchange> {
    exchange(std::shared_ptr<shared> s, cloud_call c, std::stop_token t, diagnostics& w, handler d);

    void begin();

    void take_keys(std::error_code code, std::optional<net::access> found);

    /// What takes long is signed on the pool: an io thread would hold up all transfers.
    void submit();

    void send();

    [[nodiscard]] net::http_request make_request();

    [[nodiscard]] net::http_time_limits time_of_call() const;

    void take_answer(std::error_code code, net::http_response answer);

    /// Sends the call again if the answer says what was wrong, each cure once.
    bool correct(net::http_response& answer);

    /// A provider may have been out of reach when it was asked.
    bool correct_unsigned(net::http_response& answer);

    /// The service's time, where it says or may mean that that of the request is too far from it.
    [[nodiscard]] std::optional<net::wall_clock::time_point> clock(
        const cloud_refusal& said, const net::http_response& answer) const;

    /// Asks for other keys; the same ones again are not sent again.
    void renew(net::http_response refused);

    /// Why a call was refused, and why there are no other credentials for it, which may pass.
    [[nodiscard]] std::error_code explain(const net::http_response& answer,
                                          const std::error_code& no_keys);

    [[nodiscard]] std::error_code explain(const net::http_response& answer);

    std::shared_ptr<shared> common;
    cloud_call call;
    std::stop_token stop;
    diagnostics& where;
    handler done;
    net::access keys{};
    net::wall_clock::time_point sent_at{};
    bool cured = false, set_clock = false, renewed = false;
  };

  std::shared_ptr<shared> shared_;
};

/// Makes an object by one call whose condition is that there is none; an answer that was lost may
/// have been that of an object that was made.
void send_creation(const cloud_client& client, cloud_call call, std::stop_token stop,
                   diagnostics& where, store_handler<bool> done);

/// Removes an object by one call; that there was none is no failure.
void send_removal(const cloud_client& client, cloud_call call, std::stop_token stop,
                  diagnostics& where, store_handler<> done);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/cloud/client.ipp>
#endif
