#pragma once

/// A refusal that a cloud words in JSON. Pure.

#include <mdstream/core/error.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/store/cloud/call.hpp>

#include <string>

namespace mdstream::inline v0::store {

/// Reads `{code_name: code, "message": message}`; what is not there, or is no text, stays empty: a
/// proxy's answer, say.
[[nodiscard]] inline cloud_refusal json_refusal(const net::http_response& answer,
                                                const char* code_name) {
  cloud_refusal out;
  try {
    const json::value said = json::parse(answer.text);
    if (said.type() != json::kind::object) return out;
    const auto text = [&](const char* name) {
      const json::value* const found = said.find(name);
      const bool is_text = found != nullptr && found->type() == json::kind::string;
      return is_text ? found->as<std::string>() : std::string();
    };
    out.code = text(code_name);
    out.message = text("message");
  } catch (const error&) {
    return {};
  }
  return out;
}

}  // namespace mdstream::inline v0::store
