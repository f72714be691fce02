#pragma once

#include <mdstream/store/blocking.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::error_code describe_failure(const std::exception_ptr& failure,
                                                 diagnostics& where, std::string url) {
  try {
    std::rethrow_exception(failure);
  } catch (const error& e) {
    where = e.where();
  } catch (const std::exception& e) {
    where = {.what = "the store failed", .url = std::move(url), .cause = e.what()};
  } catch (...) {
    where = {.what = "the store failed", .url = std::move(url)};
  }
  return code_of(failure);
}

}  // namespace mdstream::inline v0::detail
