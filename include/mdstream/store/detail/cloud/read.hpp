#pragma once

/// One range of an object, read with one GET. Needs libcurl: link mdstream::curl.

#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/http_range.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>

namespace mdstream::inline v0::detail {

/// A read on its way; keeps itself until it completes. The answer's head is checked before its
/// first byte is taken. Completes with what came also where the way broke.
class cloud_read : public std::enable_shared_from_this<cloud_read> {
 public:
  cloud_read(cloud_client client, std::string key, std::uint64_t offset, detail::range_target into,
             std::optional<object_version> held, std::stop_token stop, diagnostics& where,
             detail::range_handler done);

  void begin();

 private:
  /// Asks the service, which may lead to another server.
  void ask();

  void send(cloud_call call);

  /// Whether a read by a signed URL failed for what another URL may mend.
  [[nodiscard]] static bool is_refused(const net::http_response& answer) noexcept;

  std::error_code take_head(const net::http_response& head, net::http_sink& sink,
                            diagnostics& about);

  /// Some have a range of no bytes where others answer 416.
  std::error_code take_empty_range(diagnostics& about);

  void take_answer(std::error_code code, const net::http_response& answer);

  /// Where the service has the bytes.
  void follow(const net::http_response& answer);

  void finish_check(std::size_t got);

  /// Nothing is left at the offset, unless the answer itself or the version held says that there
  /// is.
  void take_beyond_end(const net::http_response& answer);

  void fail(errc code, std::string what);

  const cloud_client client_;
  const std::string key_;
  const std::optional<object_version> held_;
  detail::range_question asked_;
  const std::stop_token stop_;
  diagnostics& where_;
  detail::range_handler done_;
  std::unique_ptr<cloud_check> check_{};
  std::optional<cloud_call> signed_{};  ///< the read by a signed URL
  bool is_kept_ = false;                ///< that URL is one of an earlier read

 public:  // for the sink
  detail::range_target target;
  detail::range_promise promise{};
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/cloud/read.ipp>
#endif
