#pragma once

#include <mdstream/codec/detail/codec_set.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE bool codec_set::serves(std::string_view name) const { return serves_(name); }

MDSTREAM_INLINE std::unique_ptr<const opened_codec> codec_set::open(std::string_view text) const {
  return open_(text);
}

}  // namespace mdstream::inline v0::detail
