#pragma once

/// The one dense kernel that the model needs, in plain loops that the compiler vectorises.

#include <cstddef>

namespace quickstart {

namespace detail {

// A tile of C stays in registers while the inner dimension runs. Each element is summed in the
// order of that dimension, whatever the tiling and the number of threads: results are equal to the
// bit.
template <std::size_t Rows, std::size_t Columns, class Real>
void multiply_tile(const Real* a, std::size_t a_stride, const Real* b, std::size_t b_stride,
                   Real* c, std::size_t c_stride, std::size_t inner) {
  Real sum[Rows][Columns];
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t j = 0; j < Columns; ++j) sum[r][j] = c[r * c_stride + j];
  }
  for (std::size_t k = 0; k < inner; ++k) {
    for (std::size_t r = 0; r < Rows; ++r) {
      const Real factor = a[r * a_stride + k];
      for (std::size_t j = 0; j < Columns; ++j) sum[r][j] += factor * b[k * b_stride + j];
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t j = 0; j < Columns; ++j) c[r * c_stride + j] = sum[r][j];
  }
}

}  // namespace detail

/// C += A B for row-major matrices: A is rows x inner, B is inner x columns. `rows` has to be a
/// multiple of 8 and `columns` of 32.
template <class Real>
void multiply_add(const Real* a, const Real* b, Real* c, std::size_t rows, std::size_t inner,
                  std::size_t columns) {
  for (std::size_t j = 0; j < columns; j += 32) {
    for (std::size_t r = 0; r < rows; r += 8) {
      detail::multiply_tile<8, 32>(a + r * inner, inner, b + j, columns, c + r * columns + j,
                                   columns, inner);
    }
  }
}

/// `to` (columns x rows) becomes the transpose of `from` (rows x columns).
template <class Real>
void transpose(const Real* from, Real* to, std::size_t rows, std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t j = 0; j < columns; ++j) to[j * rows + r] = from[r * columns + j];
  }
}

}  // namespace quickstart
