#pragma once

/// Arrays in NumPy's files.
/// Source: numpy.lib.format's description of versions 1.0 to 3.0.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/ndarray.hpp>

#include <string>

namespace mdstream::inline v0::raw::detail {

/// An array and the shape that it refers to.
struct npy_array {
  dtype type = dtype::none;
  array_shape shape{};
  bytes_view values{};

  [[nodiscard]] any_ndarray view() const { return {type, shape, values}; }
};

[[noreturn]] inline void fail_npy(const char* what) {
  throw error(errc::corrupt, std::string("a .npy file ") + what);
}

/// Parses a whole file. Throws errc::corrupt for what is none, is in Fortran's order, big-endian,
/// or of elements that MDS does not have.
[[nodiscard]] npy_array parse_npy(bytes_view file);

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/npy.ipp>
#endif
