#pragma once

/// Division by a number that is known only at run time and divides many. For host and device.

#include <mdstream/core/detail/host_device.hpp>
#include <mdstream/version.hpp>

#include <cstdint>

namespace mdstream::inline v0::detail {

/// Divides by a number of 64 bits with one multiplication and one correction, where a division
/// takes a GPU about a hundred instructions. Plain data; exact for every dividend.
///
/// With `inverse` = floor((2^64 - 1) / d), the upper half of n * inverse is the quotient or one
/// less: n * inverse / 2^64 lies at most n / 2^64, which is below 1, under n / d.
class divisor {
 public:
  divisor() noexcept = default;  ///< by one
  /// Precondition: by != 0.
  explicit constexpr divisor(std::uint64_t by) noexcept
      : by_(by), inverse_(~std::uint64_t{0} / by) {}

  struct result {
    std::uint64_t quotient = 0, remainder = 0;
  };

  [[nodiscard]] MDSTREAM_HOST_DEVICE result operator()(std::uint64_t n) const noexcept {
    result out{.quotient = upper_half(n, inverse_)};
    out.remainder = n - out.quotient * by_;
    if (out.remainder >= by_) {
      ++out.quotient;
      out.remainder -= by_;
    }
    return out;
  }

 private:
  [[nodiscard]] MDSTREAM_HOST_DEVICE static std::uint64_t upper_half(std::uint64_t a,
                                                                     std::uint64_t b) noexcept {
#if defined(__CUDA_ARCH__)
    return __umul64hi(a, b);
#else
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((wide{a} * b) >> 64);
#endif
  }

  std::uint64_t by_ = 1;
  std::uint64_t inverse_ = ~std::uint64_t{0};
};

}  // namespace mdstream::inline v0::detail
