#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/format/detail/sample_encoder.hpp>
#include <mdstream/raw/detail/row_values.hpp>
#include <mdstream/version.hpp>

#include <cstring>
#include <limits>
#include <variant>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE void row_values::clear() {
  for (slot& each : slots_) each.set = false;
  own_.clear();
}

MDSTREAM_INLINE void row_values::copy(std::size_t i, bytes_view bytes) {
  const std::size_t at = own_.size();
  own_.insert(own_.end(), bytes.begin(), bytes.end());
  slots_[i] = {true, true, {}, at, bytes.size()};
}

MDSTREAM_INLINE void row_values::set_value(std::size_t i, const column_value& value) {
  const auto encoded = mdstream::detail::encode_value((*layout_)[i].type, value);
  std::visit(
      [&](const auto& each) {
        const std::size_t at = own_.size();
        own_.resize(at + static_cast<std::size_t>(each.size()));
        if (each.size() > 0) each.copy_to(own_.data() + at);
        slots_[i] = {true, true, {}, at, static_cast<std::size_t>(each.size())};
      },
      encoded);
}

MDSTREAM_INLINE std::uint64_t row_values::size() const {
  std::uint64_t size = 4 * std::uint64_t{layout_->variable_columns()};
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].set) fail_missing(i);
    const std::uint64_t bytes = slots_[i].size();
    if (bytes > std::numeric_limits<std::uint32_t>::max()) fail_large(i);
    size += bytes;
  }
  return size;
}

MDSTREAM_INLINE void row_values::copy_to(std::byte* out) const {
  std::byte* sizes = out;
  out += 4 * layout_->variable_columns();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const slot& each = slots_[i];
    if (!(*layout_)[i].size) {
      store_to(sizes, static_cast<std::uint32_t>(each.size()));
      sizes += 4;
    }
    if (each.size() > 0)
      std::memcpy(out, each.own ? own_.data() + each.at : each.bytes.data(), each.size());
    out += each.size();
  }
}

MDSTREAM_INLINE void row_values::fail_missing(std::size_t i) const {
  throw error(errc::invalid_argument, diagnostics{.what = "the row has no value for a column",
                                                  .column = (*layout_)[i].name});
}

MDSTREAM_INLINE void row_values::fail_large(std::size_t i) const {
  throw error(errc::unsupported, diagnostics{.what = "a value of 4 GiB or more cannot be stored",
                                             .column = (*layout_)[i].name});
}

}  // namespace mdstream::inline v0::raw::detail
