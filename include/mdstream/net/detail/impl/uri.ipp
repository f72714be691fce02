#pragma once

#include <mdstream/core/detail/hex.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/uri.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::string uri::origin() const { return scheme + "://" + authority(); }

}  // namespace mdstream::inline v0::net

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE uri uri_parser::parse() {
  constexpr std::size_t longest = 64 * 1024;
  if (text_.size() > longest) fail("it is longer than 64 KiB");
  uri out;
  out.scheme = read_scheme();
  const std::string_view authority = take_until("/?#");
  read_authority(authority, at_ - authority.size(), out);
  out.path = checked(take_until("?#"), "/:@");
  if (take('?')) out.query = checked(take_until("#"), "/?:@");
  if (take('#')) out.fragment = checked(take_until(""), "/?:@");
  return out;
}

MDSTREAM_INLINE void uri_parser::fail(std::string_view why) const {
  throw error(errc::invalid_argument,
              diagnostics{.what = "a URL is malformed: " + std::string(why), .byte = at_});
}

MDSTREAM_INLINE bool uri_parser::take(char wanted) {
  if (at_ == text_.size() || text_[at_] != wanted) return false;
  ++at_;
  return true;
}

MDSTREAM_INLINE std::string_view uri_parser::take_until(std::string_view ends) {
  const std::size_t end = std::min(text_.find_first_of(ends, at_), text_.size());
  const std::string_view part = text_.substr(at_, end - at_);
  at_ = end;
  return part;
}

MDSTREAM_INLINE std::string uri_parser::read_scheme() {
  const std::size_t end = text_.find("://");
  if (end == std::string_view::npos || end == 0) fail("it has no scheme");
  for (; at_ < end; ++at_) {
    const char c = mdstream::detail::to_lower(text_[at_]);
    const bool letter = c >= 'a' && c <= 'z';
    const bool later = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    if (!letter && (at_ == 0 || !later)) fail("its scheme has a character that none can have");
  }
  at_ = end + 3;
  return mdstream::detail::to_lower(text_.substr(0, end));
}

MDSTREAM_INLINE void uri_parser::read_authority(std::string_view authority, std::size_t begin,
                                                uri& out) {
  at_ = begin;
  if (const std::size_t at_sign = authority.rfind('@'); at_sign != std::string_view::npos) {
    out.user_info = checked_at(authority.substr(0, at_sign), begin, ":");
    authority.remove_prefix(at_sign + 1);
    begin += at_sign + 1;
  }
  const std::size_t host_size =
      authority.starts_with('[') ? address_size(authority, begin) : authority.find(':');
  const std::string_view host = authority.substr(0, host_size);
  at_ = begin;
  if (host.empty()) fail("it names no host");
  if (host.size() > 255) fail("its host is longer than any name");
  if (!host.starts_with('[')) check_name(host, begin);
  out.host = mdstream::detail::to_lower(host);
  if (host.size() < authority.size()) {
    at_ = begin + host.size();
    out.port = read_port(authority.substr(host.size()));
  }
  at_ = begin + authority.size();
}

MDSTREAM_INLINE void uri_parser::check_name(std::string_view host, std::size_t begin) {
  for (at_ = begin; const char c : host) {
    if (!is_unreserved(c) || c == '~') fail("its host has a character that no name has");
    ++at_;
  }
}

MDSTREAM_INLINE std::size_t uri_parser::address_size(std::string_view authority,
                                                     std::size_t begin) {
  const std::size_t end = authority.find(']');
  at_ = begin;
  if (end == std::string_view::npos || end < 3) fail("its address has no end");
  for (const char c : authority.substr(1, end - 1)) {
    if (mdstream::detail::hex_value(c) < 0 && c != ':' && c != '.') fail("its address is none");
  }
  return end + 1;
}

MDSTREAM_INLINE std::uint16_t uri_parser::read_port(std::string_view text) {
  std::uint16_t value = 0;
  const std::string_view digits = text.substr(1);
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (text.front() != ':' || digits.empty() || failure != std::errc() ||
      end != digits.data() + digits.size() || value == 0) {
    fail("its port is not a number from 1 to 65535");
  }
  return value;
}

MDSTREAM_INLINE std::string uri_parser::checked(std::string_view part, std::string_view also) {
  const std::size_t end = at_;
  std::string out = checked_at(part, at_ - part.size(), also);
  at_ = end;
  return out;
}

MDSTREAM_INLINE std::string uri_parser::checked_at(std::string_view part, std::size_t begin,
                                                   std::string_view also) {
  for (std::size_t i = 0; i < part.size(); ++i) {
    at_ = begin + i;
    const char c = part[i];
    if (is_unreserved(c) || is_sub_delimiter(c) || also.find(c) != std::string_view::npos) {
      continue;
    }
    if (c != '%') fail("it has a character that has to be escaped");
    if (part.size() - i < 3 || mdstream::detail::hex_value(part[i + 1]) < 0 ||
        mdstream::detail::hex_value(part[i + 2]) < 0) {
      fail("an escape needs two hexadecimal digits");
    }
    i += 2;
  }
  return std::string(part);
}

}  // namespace mdstream::inline v0::net::detail
