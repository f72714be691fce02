#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/detail/text.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/store/detail/hf/signed_urls.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace mdstream::inline v0::detail::hf {

/// A parameter of a URL's query, decoded; empty where there is none.
MDSTREAM_INLINE std::string parameter_of(std::string_view url, std::string_view name) {
  std::string_view left = url.substr(std::min(url.find('?'), url.size()));
  while (!left.empty()) {
    left.remove_prefix(1);  // ? or &
    const std::string_view one = left.substr(0, left.find('&'));
    if (one.starts_with(name) && one.substr(name.size()).starts_with('=')) {
      return net::percent_decode(one.substr(name.size() + 1)).value_or("");
    }
    left.remove_prefix(one.size());
  }
  return {};
}

/// The end that a policy of CloudFront has: JSON in base64 with `-`, `_` and `~` for `+`, `=`
/// and `/`.
MDSTREAM_INLINE std::optional<std::int64_t> end_of_policy(std::string text) {
  for (char& c : text) c = c == '-' ? '+' : c == '_' ? '=' : c == '~' ? '/' : c;
  const auto policy = from_base64(text);
  if (!policy) return std::nullopt;
  try {
    const json::value said = json::parse(as_text(*policy));
    const auto& statements = said.get<json::array>("Statement");
    if (statements.size() != 1) return std::nullopt;
    const json::value* at = statements.data();
    for (const char* const name : {"Condition", "DateLessThan"}) {
      if (at != nullptr) at = at->find(name);
    }
    if (at != nullptr) return at->get<std::int64_t>("AWS:EpochTime");
  } catch (const error&) {
  }
  return std::nullopt;
}

MDSTREAM_INLINE std::optional<net::wall_clock::time_point> end_of_signature(std::string_view url) {
  const auto number = [&](const char* name) {
    return v0::detail::whole_number<std::int64_t>(parameter_of(url, name));
  };
  if (const auto lasts = number("X-Amz-Expires")) {
    std::string at = parameter_of(url, "X-Amz-Date");  // 20130524T000000Z
    if (at.size() != 16 || *lasts < 0 || *lasts > 7 * 86'400) return std::nullopt;
    for (const std::size_t place : {13U, 11U}) at.insert(place, ":");
    for (const std::size_t place : {6U, 4U}) at.insert(place, "-");
    const auto since = net::parse_iso_time(at);
    if (!since) return std::nullopt;
    return *since + std::chrono::seconds(*lasts);
  }
  if (const auto at = number("Expires")) return net::detail::time_of_seconds(*at);
  if (const auto at = end_of_policy(parameter_of(url, "Policy"))) {
    return net::detail::time_of_seconds(*at);
  }
  return std::nullopt;
}

MDSTREAM_INLINE void signed_urls::keep(const std::string& of, std::string url,
                                       net::wall_clock::time_point until) {
  const std::lock_guard lock(mutex_);
  kept_.insert_or_assign(of, entry{std::move(url), until});
  if (kept_.size() <= most) return;
  kept_.erase(
      std::ranges::min_element(kept_, {}, [](const auto& each) { return each.second.until; }));
}

MDSTREAM_INLINE std::optional<std::string> signed_urls::find(
    const std::string& of, net::wall_clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  const auto at = kept_.find(of);
  if (at == kept_.end() || at->second.until <= now) return std::nullopt;
  return at->second.url;
}

MDSTREAM_INLINE void signed_urls::forget(std::string_view url) {
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [&](const auto& each) { return each.second.url == url; });
}

}  // namespace mdstream::inline v0::detail::hf
