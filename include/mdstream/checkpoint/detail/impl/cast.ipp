#pragma once

#include <mdstream/checkpoint/detail/cast.hpp>
#include <mdstream/format/dtype.hpp>
#include <mdstream/version.hpp>

#include <cstring>

namespace mdstream::inline v0::detail {

template <class From, class To>
void cast_elements(const std::byte* from, std::byte* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    From in;
    std::memcpy(&in, from + i * sizeof in, sizeof in);
    const auto out = static_cast<To>(in);
    std::memcpy(to + i * sizeof out, &out, sizeof out);
  }
}

template <class From>
[[nodiscard]] cast_function cast_from(tensor_type to) noexcept {
  switch (to) {
    case tensor_type::f16: return &cast_elements<From, float16>;
    case tensor_type::bf16: return &cast_elements<From, bfloat16>;
    case tensor_type::f32: return &cast_elements<From, float>;
    case tensor_type::f64: return &cast_elements<From, double>;
    default: return nullptr;
  }
}

MDSTREAM_INLINE element_cast find_cast(tensor_type from, tensor_type to) noexcept {
  element_cast out{.from = bits_of(from) / 8, .to = bits_of(to) / 8};
  switch (from) {
    case tensor_type::f16: out.run = cast_from<float16>(to); break;
    case tensor_type::bf16: out.run = cast_from<bfloat16>(to); break;
    case tensor_type::f32: out.run = cast_from<float>(to); break;
    case tensor_type::f64: out.run = cast_from<double>(to); break;
    default: break;
  }
  return out;
}

}  // namespace mdstream::inline v0::detail
