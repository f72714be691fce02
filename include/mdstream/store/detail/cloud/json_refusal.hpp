#pragma once

/// A refusal that a cloud words in JSON. Pure.

#include <mdstream/store/detail/cloud/call.hpp>

namespace mdstream::inline v0::detail {

/// Reads `{code_name: code, "message": message}`; what is not there, or is no text, stays empty: a
/// proxy's answer, say.
[[nodiscard]] cloud_refusal json_refusal(const net::http_response& answer, const char* code_name);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/cloud/json_refusal.ipp>
#endif
