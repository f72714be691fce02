#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/stream/detail/bad_samples.hpp>
#include <mdstream/version.hpp>

#include <ios>
#include <new>
#include <system_error>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE bool is_about_sample(const std::exception_ptr& why) noexcept {
  try {
    std::rethrow_exception(why);
  } catch (const error& e) {
    const std::error_code code = e.code();
    return code == errc::corrupt || code == errc::invalid_argument || code == errc::out_of_range ||
           code == errc::unsupported || code == errc::transform_failed;
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const std::ios_base::failure&) {  // also of streams of text in memory
    return true;
  } catch (const std::system_error&) {  // of files, threads, sockets
    return false;
  } catch (...) {
    return true;
  }
}

MDSTREAM_INLINE void add_bad_samples(replaced_samples& to, const std::vector<std::int64_t>& ids) {
  for (const std::int64_t id : ids) {
    // Not behind a gap: a state may have left out which samples were the first.
    if (to.first.size() == to.count && to.count < most_kept_bad_samples) to.first.push_back(id);
    ++to.count;
  }
}

}  // namespace mdstream::inline v0::detail
