#pragma once

#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0 {

MDSTREAM_INLINE checkpoint_saver::checkpoint_saver(saver_options options)
    : saving_(detail::make_where_made<detail::saving>(std::move(options))) {}

MDSTREAM_INLINE detail::saving& checkpoint_saver::here() const {
  saving_.get_deleter().made.require_here("checkpoint_saver");
  return *saving_;
}

}  // namespace mdstream::inline v0
