#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/raw/options.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::raw {

MDSTREAM_INLINE column parse_column(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw error(errc::invalid_argument,
                "\"" + std::string(text) + "\" does not name a column: write name=encoding");
  const std::string_view rest = text.substr(equals + 1);
  const std::size_t at = rest.find("@/");
  column out{std::string(text.substr(0, equals)), std::string(rest.substr(0, at)), {}};
  if (at != std::string_view::npos) out.pointer = rest.substr(at + 1);
  (void)parse_encoding(out.encoding);
  return out;
}

MDSTREAM_INLINE std::string to_string(const column& each) {
  std::string out = each.name + '=' + each.encoding;
  if (!each.pointer.empty()) out += '@' + each.pointer;
  return out;
}

MDSTREAM_INLINE sample_layout layout_of(const std::vector<column>& columns) {
  std::vector<column_spec> specs;
  specs.reserve(columns.size());
  for (const column& each : columns) specs.push_back({each.name, each.encoding});
  return sample_layout::mds(specs);
}

}  // namespace mdstream::inline v0::raw
