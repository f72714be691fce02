#pragma once

#include <mdstream/store/detail/http_range.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string range_question::header() const {
  return "bytes=" + std::to_string(offset) + '-' + std::to_string(last());
}

MDSTREAM_INLINE std::optional<std::uint64_t> content_length(const net::http_headers& headers) {
  const auto text = headers.find("Content-Length");
  return text ? net::detail::whole_number<std::uint64_t>(*text) : std::nullopt;
}

MDSTREAM_INLINE std::optional<std::uint64_t> object_bytes(const net::http_response& answer) {
  if (answer.status == 200) return content_length(answer.headers);
  if (const auto text = answer.headers.find("Content-Range")) {
    if (const auto range = net::content_range::parse(*text)) return range->total;
  }
  return std::nullopt;
}

MDSTREAM_INLINE std::error_code tell_of_change(diagnostics& about, std::string how) {
  about.what = "the object changed while it was read";
  about.cause = std::move(how);
  about.is_final = true;
  return errc::corrupt;
}

MDSTREAM_INLINE std::error_code check_range(const range_question& asked,
                                            const net::http_response& head, range_promise& promise,
                                            diagnostics& about) {
  const auto refuse = [&about](std::string why) {
    about.what = std::move(why);
    return make_error_code(errc::corrupt);
  };
  std::optional<std::uint64_t> total;
  if (head.status == 206) {
    const auto text = head.headers.find("Content-Range");
    const auto range = text ? net::content_range::parse(*text) : std::nullopt;
    if (!range || !range->satisfied) return refuse("the answer does not say which bytes it has");
    const std::uint64_t last = asked.last();
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
  promise.found = {total.value_or(0), tag_of(head.headers)};
  if (!asked.version) return {};
  if (total && *total != asked.version->bytes) {
    return tell_of_change(about, "it had " + std::to_string(asked.version->bytes) +
                                     " bytes, and has " + std::to_string(*total));
  }
  const std::string& tag = promise.found.tag;
  if (!asked.version->tag.empty() && !tag.empty() && tag != asked.version->tag) {
    return tell_of_change(about, "it has another ETag than at first");
  }
  return {};
}

MDSTREAM_INLINE range_handler answer_range(const store_call& of, answer_handler done) {
  return [in_memory = of.reads_into_memory(), done = std::move(done)](
             std::error_code code, std::size_t got, object_version found) mutable {
    done(code, {.object = std::move(found), .bytes = in_memory ? got : 0});
  };
}

MDSTREAM_INLINE std::error_code check_beyond_end(const range_question& asked,
                                                 std::optional<std::uint64_t> total,
                                                 diagnostics& about) {
  if (total && *total > asked.offset) {
    about.what = "the server refuses a range that the object has";
    return errc::corrupt;
  }
  if (asked.version && asked.version->bytes > asked.offset) {
    return tell_of_change(about, "it has become shorter");
  }
  return {};
}

}  // namespace mdstream::inline v0::detail
