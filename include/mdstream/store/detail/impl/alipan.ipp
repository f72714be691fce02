#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/store/alipan.hpp>
#include <mdstream/version.hpp>

#include <string>

namespace mdstream::inline v0::store {

MDSTREAM_INLINE alipan alipan::open(std::string_view url) {
  throw error(errc::unsupported,
              {.what = "alipan:// is not supported, for the drive has no published API: mount it "
                       "(by rclone, say) and use the local path, or move the dataset to a bucket",
               .url = std::string(url)});
}

}  // namespace mdstream::inline v0::store
