#pragma once

#include <mdstream/core/bytes.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace support {

/// An encoding of one's own: two floats.
struct point {
  static constexpr std::string_view name = "point";
  static constexpr std::uint64_t size = 8;
  using view = std::array<float, 2>;
  static view decode(mdstream::bytes_view value) {
    return {mdstream::load<float>(value.data()), mdstream::load<float>(value.data() + 4)};
  }
  static std::string encode(const view& value) {
    std::string out(8, '\0');
    std::memcpy(out.data(), value.data(), 8);
    return out;
  }
};

}  // namespace support
