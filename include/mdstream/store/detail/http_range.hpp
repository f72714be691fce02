#pragma once

/// Whether the answer to a ranged GET is what was asked for. Pure; every byte of it is a server's.

#include <mdstream/net/http_message.hpp>
#include <mdstream/store/store.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

/// What is asked of a server with one ranged GET, and whether its answer is that. Pure.
struct range_question {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;                  ///< > 0
  std::optional<object_version> version{};  ///< the answer has to be of it

  [[nodiscard]] std::string header() const {
    return "bytes=" + std::to_string(offset) + '-' + std::to_string(offset + count - 1);
  }
};

/// What the head of an answer promises about its body.
struct range_promise {
  std::uint64_t skip = 0;                   ///< bytes of the body before the range
  std::optional<std::uint64_t> expected{};  ///< bytes of the range that follow, where they are told
};

[[nodiscard]] inline std::optional<std::uint64_t> content_length(const net::http_headers& headers) {
  const auto text = headers.find("Content-Length");
  return text ? net::detail::decimal<std::uint64_t>(*text) : std::nullopt;
}

[[nodiscard]] inline std::string tag_of(const net::http_headers& headers) {
  return std::string(headers.find("ETag").value_or(""));
}

/// Reads the head of a 200 or 206. `what` says what is wrong where the code is set.
[[nodiscard]] inline std::error_code check_range(const range_question& asked,
                                                 const net::http_response& head,
                                                 range_promise& promise, std::string& what) {
  const auto refuse = [&what](std::string why) {
    what = std::move(why);
    return make_error_code(errc::corrupt);
  };
  std::optional<std::uint64_t> total;
  if (head.status == 206) {
    const auto text = head.headers.find("Content-Range");
    const auto range = text ? net::content_range::parse(*text) : std::nullopt;
    if (!range || !range->satisfied) return refuse("the answer does not say which bytes it has");
    const std::uint64_t last = asked.offset + asked.count - 1;
    const bool ends_early =
        range->last < last && !(range->total && range->last + 1 == *range->total);
    if (range->first != asked.offset || range->last > last || ends_early) {
      return refuse("the answer has bytes " + std::to_string(range->first) + " to " +
                    std::to_string(range->last) + ", asked were " + std::to_string(asked.offset) +
                    " to " + std::to_string(last));
    }
    promise.expected = range->last - range->first + 1;
    const auto length = content_length(head.headers);
    if (length && *length != *promise.expected) {
      return refuse("the answer's length is not that of its range");
    }
    total = range->total;
  } else if (head.status == 200) {  // the whole object: the server does not know ranges
    promise.skip = asked.offset;
    total = content_length(head.headers);
    if (total) {
      const std::uint64_t rest = *total - std::min(*total, asked.offset);
      promise.expected = std::min(rest, asked.count);
    }
  } else {
    return refuse("the server answers " + std::to_string(head.status));
  }
  if (!asked.version) return {};
  const std::string tag = tag_of(head.headers);
  if ((total && *total != asked.version->bytes) ||
      (!asked.version->tag.empty() && !tag.empty() && tag != asked.version->tag)) {
    return refuse("the object changed while it was read");
  }
  return {};
}

/// Reads a 416 of an object of `total` bytes, as far as they are told: no code where nothing is at
/// the offset. `what` says what is wrong where the code is set.
[[nodiscard]] inline std::error_code check_beyond_end(const range_question& asked,
                                                      std::optional<std::uint64_t> total,
                                                      std::string& what) {
  if (total && *total > asked.offset) {
    what = "the server refuses a range that the object has";
    return errc::corrupt;
  }
  if (asked.version && asked.version->bytes > asked.offset) {
    what = "the object changed while it was read";
    return errc::corrupt;
  }
  return {};
}

}  // namespace mdstream::inline v0::detail
