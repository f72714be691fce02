#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/json/reader.hpp>
#include <mdstream/format/column_value.hpp>
#include <mdstream/format/text_numbers.hpp>
#include <mdstream/raw/detail/text_value.hpp>
#include <mdstream/version.hpp>

#include <cstdint>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE void set_text_value(const sample_layout& layout, std::size_t i,
                                    std::string_view text, row_values& out) {
  const encoding& type = layout[i].type;
  try {
    switch (type.kind) {
      case encoding_kind::bytes:
      case encoding_kind::jpeg:
      case encoding_kind::png: return out.set(i, as_bytes(text));
      case encoding_kind::str:
        if (const std::size_t bad = mdstream::detail::first_invalid_utf8(text); bad != text.size())
          throw error(errc::corrupt, "the text is not UTF-8");
        return out.set(i, as_bytes(text));
      case encoding_kind::int_: {
        const auto parsed = parse_python_int(text);
        const auto value = parsed ? parsed->as<std::int64_t>() : std::nullopt;
        if (!value) throw error(errc::corrupt, "a text is not an integer of 64 bits");
        return out.set_number(i, *value);
      }
      case encoding_kind::str_int:
        if (const auto value = parse_python_int(text)) return out.set_value(i, *value);
        throw error(errc::corrupt, "a text is not an integer");
      case encoding_kind::str_float:
        if (const auto value = mdstream::detail::parse_python_float(text))
          return out.set_value(i, *value);
        throw error(errc::corrupt, "a text is not a number");
      case encoding_kind::str_decimal:
        if (const auto value = parse_decimal(text)) return out.set_value(i, *value);
        throw error(errc::corrupt, "a text is not a decimal number");
      case encoding_kind::json: {
        if (mdstream::detail::first_invalid_utf8(text) != text.size())
          throw error(errc::corrupt, "the text is not UTF-8");
        json::reader in(text);
        (void)in.skip();
        in.finish();
        return out.set(i, as_bytes(text));
      }
      default: return out.set_value(i, text);
    }
  } catch (const error& e) {
    diagnostics where = e.where();
    where.byte.reset();
    where.column = layout[i].name;
    throw error(errc::corrupt, std::move(where));
  }
}

}  // namespace mdstream::inline v0::raw::detail
