#pragma once

#include <mdstream/net/aws_key_texts.hpp>
#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/net/signature_v4.hpp>
#include <mdstream/store/detail/s3/refusal.hpp>
#include <mdstream/store/detail/s3/session.hpp>
#include <mdstream/version.hpp>

#include <optional>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

/// One question for a session; keeps itself until it has an answer.
struct s3_session_credentials::question : std::enable_shared_from_this<question> {
  question(std::shared_ptr<const shared> c, std::stop_token s, diagnostics& w,
           net::aws_credentials_handler d)
      : common(std::move(c)), stop(std::move(s)), where(w), done(std::move(d)) {}

  void begin() {
    common->others.async_find(stop, where,
                              [self = shared_from_this()](
                                  std::error_code code, std::optional<net::aws_credentials> found) {
                                self->take_keys(code, std::move(found));
                              });
  }

  void take_keys(std::error_code code, std::optional<net::aws_credentials> found) {
    if (!code && found->anonymous()) {
      where.what =
          "a directory bucket (S3 Express One Zone) is read and written with credentials "
          "alone, and there are none";
      code = errc::permission_denied;
    }
    // The same ones are refused again.
    if (!code && refused && net::same_keys(*found, *refused)) {
      where = std::move(why);
      code = errc::permission_denied;
    }
    if (code) return done(code, std::nullopt);
    signer = *std::move(found);
    common->from.send_dated(
        [self = shared_from_this()](auto now) { return self->request(now); }, stop, where,
        [self = shared_from_this()](std::error_code failure, const net::http_response& answer) {
          self->take_answer(failure, answer);
        });
  }

  [[nodiscard]] net::http_request request(net::wall_clock::time_point now) const {
    const store::s3_settings& settings = common->settings;
    const store::s3_place at = store::place_of(settings, settings.region, "");
    net::http_request out{.url = at.url(settings) + "?session="};
    net::detail::require_private(common->source, out.url);  // for the answer has a secret
    net::v4_request to_sign{.host = at.host,
                            .path = at.path,
                            .query = {{"session", ""}},
                            .payload_hash = std::string(net::empty_payload)};
    net::v4_sign(to_sign, signer, net::v4_signing_key(signer, now, settings.region, "s3express"),
                 now);
    for (auto& [name, value] : to_sign.headers) {
      out.headers.push_back({std::move(name), std::move(value)});
    }
    return out;
  }

  void take_answer(std::error_code code, const net::http_response& answer) {
    std::optional<net::aws_credentials> session;
    try {
      if (!code && !answer.ok()) return take_refusal(answer);
      if (!code) {
        session =
            net::detail::by_our_clock(net::parse_s3_session(answer.text, common->source), answer);
      }
    } catch (const error& e) {
      where = e.where();
      code = e.code();
    }
    done(code, std::move(session));
  }

  void take_refusal(const net::http_response& answer) {
    const cloud_refusal said = s3_refusal(answer).words(true);
    where = net::detail::keys_refused(
                common->source, "S3 answers " + std::to_string(answer.status) + ' ' + said.code)
                .where();
    where.what += "; it was asked for with the credentials of " + signer.source;
    where.cause = said.advice.empty() && answer.status == 403
                      ? "they need the permission s3express:CreateSession for the bucket"
                      : said.advice;
    if (!said.keys_expired || refused) return done(errc::permission_denied, std::nullopt);
    common->others.refuse(signer);
    refused = std::move(signer);
    why = std::exchange(where, {});
    begin();
  }

  const std::shared_ptr<const shared> common;
  const std::stop_token stop;
  diagnostics& where;
  net::aws_credentials_handler done;
  net::aws_credentials signer{};
  std::optional<net::aws_credentials> refused{};  // once
  diagnostics why{};
};

MDSTREAM_INLINE s3_session_credentials::s3_session_credentials(net::fetcher from,
                                                               const store::s3_settings& settings,
                                                               net::any_aws_credentials others)
    : shared_(std::make_shared<const shared>(shared{
          std::move(from), settings, net::cached_keys<net::aws_credentials>(std::move(others)),
          "the session with the bucket " + settings.bucket})) {}

MDSTREAM_INLINE void s3_session_credentials::async_find(std::stop_token stop, diagnostics& where,
                                                        net::aws_credentials_handler done) const {
  std::make_shared<question>(shared_, std::move(stop), where, std::move(done))->begin();
}

}  // namespace mdstream::inline v0::detail
