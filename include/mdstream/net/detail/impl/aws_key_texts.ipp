#pragma once

#include <mdstream/core/json/reader.hpp>
#include <mdstream/net/aws_key_texts.hpp>
#include <mdstream/net/time_text.hpp>
#include <mdstream/net/xml.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE error keys_refused(const std::string& source, const std::string& why) {
  return {errc::permission_denied, source + " gave no credentials: " + why};
}

/// A service's word for a failure, unless it is something else, such as a token that it was sent.
MDSTREAM_INLINE std::string plain_word(std::string text) {
  const bool plain = text.size() <= 40 && std::all_of(text.begin(), text.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
                     });
  return plain ? text : std::string();
}

MDSTREAM_INLINE aws_credentials complete_keys(aws_credentials keys, const std::string& expires,
                                              const std::string& source) {
  if (keys.access_key_id.empty() || keys.secret_access_key.empty()) {
    throw keys_refused(source, "the answer lacks one of the two");
  }
  if (!expires.empty()) {
    keys.expires = parse_iso_time(expires);
    if (!keys.expires) throw keys_refused(source, "their time of expiry is none");
  }
  keys.source = source;
  return keys;
}

/// Keys as the elements of a result have them.
struct xml_keys {
  aws_credentials keys{};
  std::string expires{};

  void read_result(xml_reader& in) {
    while (const auto part = in.next_child()) {
      if (*part == "Credentials") {
        read_credentials(in);
      } else {
        in.skip();
      }
    }
  }

 private:
  void read_credentials(xml_reader& in) {
    while (const auto name = in.next_child()) {
      if (*name == "AccessKeyId") {
        keys.access_key_id = in.text();
      } else if (*name == "SecretAccessKey") {
        keys.secret_access_key = in.text();
      } else if (*name == "SessionToken") {
        keys.session_token = in.text();
      } else if (*name == "Expiration") {
        expires = in.text();
      } else {
        in.skip();
      }
    }
  }
};

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE aws_credentials parse_aws_keys_json(std::string_view text,
                                                    const std::string& source) {
  aws_credentials keys;
  std::string expires, code;
  try {
    json::reader in(text);
    in.begin_object();
    while (const auto key = in.next_key()) {
      std::string* into = nullptr;
      if (*key == "AccessKeyId") into = &keys.access_key_id;
      if (*key == "SecretAccessKey") into = &keys.secret_access_key;
      if (*key == "Token" || *key == "SessionToken") into = &keys.session_token;
      if (*key == "Expiration") into = &expires;
      if (*key == "Code") into = &code;
      if (into == nullptr || in.take_null()) {
        if (into == nullptr) (void)in.skip();
      } else {
        *into = in.string();
      }
    }
    in.finish();
  } catch (const error&) {
    throw detail::keys_refused(source, "the answer is not the JSON that is expected");
  }
  if (!code.empty() && code != "Success") throw detail::keys_refused(source, "it failed itself");
  return detail::complete_keys(std::move(keys), expires, source);
}

MDSTREAM_INLINE aws_credentials parse_sts_keys(std::string_view text, const std::string& source) {
  detail::xml_keys found;
  try {
    xml_reader in(text);
    (void)in.begin();
    while (const auto result = in.next_child()) {
      if (result->ends_with("Result")) {
        found.read_result(in);
      } else {
        in.skip();
      }
    }
  } catch (const error&) {
    throw detail::keys_refused(source, "the answer is not the XML that is expected");
  }
  return detail::complete_keys(std::move(found.keys), found.expires, source);
}

MDSTREAM_INLINE aws_credentials parse_s3_session(std::string_view text, const std::string& source) {
  detail::xml_keys found;
  try {
    xml_reader in(text);
    in.begin("CreateSessionResult");
    found.read_result(in);
  } catch (const error&) {
    throw detail::keys_refused(source, "the answer is not the XML that is expected");
  }
  if (found.keys.session_token.empty() || found.expires.empty()) {
    throw detail::keys_refused(source, "the session has no token or no end");
  }
  return detail::complete_keys(std::move(found.keys), found.expires, source);
}

MDSTREAM_INLINE std::string parse_sts_error(std::string_view text) {
  try {
    xml_reader in(text);
    if (in.begin() != "ErrorResponse") return {};
    while (const auto part = in.next_child()) {
      if (*part != "Error") {
        in.skip();
        continue;
      }
      while (const auto name = in.next_child()) {
        if (*name == "Code") return detail::plain_word(in.text());
        in.skip();
      }
    }
  } catch (const error&) {
  }
  return {};
}

}  // namespace mdstream::inline v0::net
