#pragma once

#include <mdstream/store/detail/call.hpp>
#include <mdstream/version.hpp>

#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void refuse_call(const store_call& call, std::string url, diagnostics& where,
                                 answer_handler done) {
  where = {.what = call.create_only ? "the store does not tell whether it writes over an object"
                                    : "the store does not hand out bytes as they come",
           .url = std::move(url)};
  done(errc::unsupported, {});
}

/// A handler that completes a call with what it is given.
template <class Value>
[[nodiscard]] store_handler<Value> answer_with(Value store_answer::* part, answer_handler done) {
  return [part, done = std::move(done)](std::error_code code, Value value) mutable {
    store_answer answer;
    answer.*part = std::move(value);
    done(code, std::move(answer));
  };
}

MDSTREAM_INLINE store_handler<> answer_end(answer_handler done) {
  return [done = std::move(done)](std::error_code code) mutable { done(code, {.written = !code}); };
}

MDSTREAM_INLINE store_handler<std::uint64_t> answer_size(answer_handler done) {
  return [done = std::move(done)](std::error_code code, std::uint64_t bytes) mutable {
    done(code, {.object = {.bytes = bytes}});
  };
}

MDSTREAM_INLINE store_handler<object_version> answer_object(answer_handler done) {
  return answer_with(&store_answer::object, std::move(done));
}

MDSTREAM_INLINE store_handler<std::size_t> answer_bytes(answer_handler done) {
  return answer_with(&store_answer::bytes, std::move(done));
}

MDSTREAM_INLINE store_handler<bool> answer_written(answer_handler done) {
  return answer_with(&store_answer::written, std::move(done));
}

MDSTREAM_INLINE store_handler<std::vector<object_info>> answer_objects(answer_handler done) {
  return answer_with(&store_answer::objects, std::move(done));
}

MDSTREAM_INLINE store_handler<std::vector<object_info>> answer_untagged_objects(
    answer_handler done) {
  return answer_objects(
      [done = std::move(done)](std::error_code code, store_answer answer) mutable {
        drop_tags(answer.objects);
        done(code, std::move(answer));
      });
}

MDSTREAM_INLINE void drop_tags(std::vector<object_info>& objects) noexcept {
  for (object_info& each : objects) each.tag.clear();
}

}  // namespace mdstream::inline v0::detail
