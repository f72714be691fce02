#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/store/detail/cloud/json_refusal.hpp>
#include <mdstream/version.hpp>

#include <string>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE cloud_refusal json_refusal(const net::http_response& answer,
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

}  // namespace mdstream::inline v0::detail
