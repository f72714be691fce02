#pragma once

/// Column values as JSON: plain, or typed so that nothing is lost.

#include <mdstream/format/column_value.hpp>
#include <mdstream/format/file_info.hpp>

#include "command.hpp"

#include <string>

namespace cli {

/// {"t": …}: the value with its type; numbers as digits or bits, bytes as base64.
[[nodiscard]] json typed_value(const mds::encoding& type, const mds::column_value& value);

/// The value as a person or a script would write it; bytes and images as base64 of their bytes.
[[nodiscard]] json plain_value(const mds::encoding& type, const mds::column_value& value);

}  // namespace cli
