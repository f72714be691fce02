#pragma once

#include <mdstream/core/detail/usable_memory.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/version.hpp>

#include <new>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE pages room_for_object(std::uint64_t bytes, const std::string& url) {
  constexpr std::uint64_t address_space = std::uint64_t{1} << 47;
  try {
    if (bytes < address_space) return bytes == 0 ? pages() : pages(static_cast<std::size_t>(bytes));
  } catch (const std::bad_alloc&) {
  }
  // What is said to be larger than all of the machine's memory says so of the object.
  throw error(bytes <= machine_memory() ? errc::out_of_memory : errc::corrupt,
              {.what = "the object is said to have " + std::to_string(bytes) +
                       " bytes, for which there is no memory",
               .url = url});
}

}  // namespace mdstream::inline v0::detail
