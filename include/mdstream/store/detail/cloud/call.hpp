#pragma once

/// One request to a cloud's store, and what tells one cloud's API from another's.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/net/http_message.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/store.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

class cloud_client;

/// One request before it is let in by keys. May be sent more than once.
struct cloud_call {
  using head_function =
      std::function<std::error_code(const net::http_response&, net::http_sink&, diagnostics&)>;

  std::string method = "GET";
  std::string url{};  ///< without what keys add to it
  std::string key{};  ///< whole, for messages
  std::vector<net::http_header> headers{};
  std::optional<bytes_view> body{};
  /// Makes a header of `body`, by which the service refuses other bytes than these; one without a
  /// value is not sent. Tells of each block that was read. Called once, on the pool for large
  /// bodies.
  using checksum_function =
      std::function<net::http_header(bytes_view, const std::function<void(bytes_view)>&)>;
  checksum_function checksum{};
  std::shared_ptr<const std::string> text{};  ///< a body that the call owns, in place of `body`
  std::optional<net::http_sink> sink{};
  head_function on_head{};
  std::size_t most_text = 1 << 20;
  unsigned redirects = 0;
  bool redirects_within = false;  ///< one to another server is the answer, and no failure
  int also_good = 0;              ///< a status that is no failure, besides 2xx
  bool keyless = false;           ///< the URL lets it in by itself
  bool secret_query = false;      ///< no message may quote it; that of a keyless call is one anyway
  std::optional<std::chrono::milliseconds> most_time{};  ///< in all, where it is less than usual
  /// The service works for minutes before it answers, or goes on to: its silence is no failure, and
  /// the call is not sent twice by itself (`http_request::once`).
  bool is_slow = false;
  /// Set: the service answers 200 before it knows how the call ends. Gives the status that it would
  /// have answered.
  std::function<int(const net::http_response&)> late_status{};
  /// A parameter of the query that names the payer, where credentials let the call in; and what a
  /// refusal of these says of the payer.
  std::string payer_query{}, payer{};
  std::string region{};  ///< for which the call was made, where a cloud tells regions apart
};

/// What a cloud says about a failure, in its own words.
struct cloud_refusal {
  std::string code{};
  std::string message{};
  bool keys_expired = false;         ///< other keys of the same provider may be taken
  std::optional<bool> wrong_time{};  ///< the request's time is the reason; unset: nothing is said
  std::optional<errc> failure{};     ///< where the words tell more than the status
  bool begins_anew = false;          ///< the call is in vain; what it is the end of may be repeated
  std::string advice{};              ///< what can be done
};

/// Looks at all bytes of an object, in their order, and holds them against what the service said.
class cloud_check {
 public:
  cloud_check() = default;
  cloud_check(const cloud_check&) = delete;
  cloud_check& operator=(const cloud_check&) = delete;
  virtual ~cloud_check() = default;
  virtual void put(bytes_view bytes) = 0;
  /// Throws `mdstream::error` where the object has other bytes.
  virtual void finish() = 0;
};

/// A part of a listing.
struct cloud_page {
  std::vector<object_info> objects{};  ///< whole keys
  std::vector<cloud_call> more{};      ///< the next page; directories that were found
};

/// How one cloud's API says what every store does. Pure but for `write` and `remove`: it makes
/// calls and reads answers, every byte of which is a server's. Keys are whole. Reading an answer
/// throws `mdstream::error`.
class cloud_api {
 public:
  explicit cloud_api(retry_policy part_retry) : part_retry_(part_retry) {}
  cloud_api(const cloud_api&) = delete;
  cloud_api& operator=(const cloud_api&) = delete;
  virtual ~cloud_api() = default;

  /// For messages: "Azure".
  [[nodiscard]] virtual std::string name() const = 0;
  /// Prefix of all keys; empty, or without a slash at either end.
  [[nodiscard]] virtual const std::string& root() const = 0;
  /// For messages.
  [[nodiscard]] virtual std::string url(std::string_view key) const = 0;
  [[nodiscard]] virtual cloud_refusal refusal(const net::http_response& answer) const = 0;

  /// How far a request's time may be from the service's.
  [[nodiscard]] virtual std::chrono::seconds clock_tolerance() const {
    return std::chrono::minutes(14);
  }
  /// Takes from a refusal what has to be known of the service; whether `call`, which this may
  /// change, is to be sent again.
  [[nodiscard]] virtual bool cure(cloud_call&, const net::http_response&) const { return false; }
  /// Whether keys read a call's body to let it in.
  [[nodiscard]] virtual bool signs_bodies() const { return false; }

  /// How the requests that larger calls are made of are repeated.
  [[nodiscard]] const retry_policy& part_retry() const noexcept { return part_retry_; }

  /// Asks for the object's version, and reads the answer.
  [[nodiscard]] virtual cloud_call look(const std::string& key) const = 0;
  [[nodiscard]] virtual object_version version(const net::http_response& answer) const = 0;

  /// Reads the object; of the version `held` where there is one. Whether versions' tags are ETags
  /// of the answers to it.
  [[nodiscard]] virtual cloud_call get(const std::string& key,
                                       const object_version* held) const = 0;
  [[nodiscard]] virtual bool tags_are_etags() const { return true; }
  /// The same by a URL that lets in by itself, which an answer to `get` led to before and which
  /// serves for more reads; nothing where there is none.
  [[nodiscard]] virtual std::optional<cloud_call> get_signed(const std::string&,
                                                             const object_version*) const {
    return std::nullopt;
  }
  /// Reads the object where the answer to `get` leads away to.
  [[nodiscard]] virtual cloud_call get_at(const std::string&, const net::http_response&) const {
    throw error(errc::unsupported, "the service redirects to another server");
  }
  /// A read by such a URL has failed.
  virtual void forget_signed(const cloud_call&) const {}
  /// What looks at an object that is read as a whole by one call; nothing where it cannot be
  /// checked.
  [[nodiscard]] virtual std::unique_ptr<cloud_check> check(const net::http_response&) const {
    return nullptr;
  }

  /// The first call of a listing of the keys that begin with `prefix`, and what its answers have.
  /// A store of directories may list more than that.
  [[nodiscard]] virtual cloud_call list(const std::string& prefix) const = 0;
  [[nodiscard]] virtual cloud_page page(const cloud_call& asked,
                                        const net::http_response& answer) const = 0;
  [[nodiscard]] virtual bool lists_more() const { return false; }
  /// Whether a listing's failure says that nothing has that prefix.
  [[nodiscard]] virtual bool lists_nothing(const net::http_response&) const { return false; }
  /// Where that failure is the same for a place that is not there: asks for the place itself, which
  /// answers 404 then.
  [[nodiscard]] virtual std::optional<cloud_call> place() const { return std::nullopt; }
  /// Whether a removal's failure says that there was no such object.
  [[nodiscard]] virtual bool was_absent(const net::http_response& answer) const {
    return answer.status == 404;
  }

  virtual void write(const cloud_client& client, std::string key, bytes_view bytes,
                     std::stop_token stop, diagnostics& where, store_handler<> done) const = 0;

  /// Whether `create` can be called: the service looks and writes at once.
  [[nodiscard]] virtual bool creates() const { return false; }
  /// Writes the object unless there is one of that key; completes with whether it did. Where one
  /// call does it, `send_creation` of that.
  virtual void create(const cloud_client&, std::string key, bytes_view, std::stop_token,
                      diagnostics& where, store_handler<bool> done) const {
    where = {.what = name() + " can not be told to write only where there is no object",
             .url = url(key)};
    done(errc::unsupported, false);
  }
  /// Whether the failure of such a call says that there is an object.
  [[nodiscard]] virtual bool was_there(const net::http_response& answer) const {
    return answer.status == 412;
  }

  /// Where one call does it, `send_removal` of that.
  virtual void remove(const cloud_client& client, std::string key, std::stop_token stop,
                      diagnostics& where, store_handler<> done) const = 0;

 private:
  const retry_policy part_retry_;
};

}  // namespace mdstream::inline v0::detail
