#pragma once

#include <mdstream/checkpoint/detail/commit.hpp>
#include <mdstream/checkpoint/detail/sealed_json.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string write_hint(save_id newest) {
  return write_sealed("hint", json::object{{"checkpoint", newest.text()}});
}

}  // namespace mdstream::inline v0::detail
