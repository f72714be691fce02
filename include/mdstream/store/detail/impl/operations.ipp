#pragma once

#include <mdstream/store/operations.hpp>
#include <mdstream/version.hpp>

#include <limits>
#include <new>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE pages room_for_object(std::uint64_t bytes, const std::string& url) {
  try {
    if (bytes < std::numeric_limits<std::size_t>::max() / 2)
      return bytes == 0 ? pages() : pages(static_cast<std::size_t>(bytes));
  } catch (const std::bad_alloc&) {
  }
  throw error(errc::corrupt, {.what = "the object is said to have " + std::to_string(bytes) +
                                      " bytes, for which there is no memory",
                              .url = url});
}

}  // namespace mdstream::inline v0::detail
