#pragma once

/// The values of one sample on their way into a shard.

#include <mdstream/core/bytes.hpp>
#include <mdstream/format/column_value.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdstream::inline v0::raw::detail {

/// Values by the number of their column in the layout. No memory is allocated once the first rows
/// were made.
class row_values {
 public:
  /// `layout` outlives this.
  explicit row_values(const sample_layout& layout) : layout_(&layout), slots_(layout.size()) {}

  /// Forgets all values.
  void clear();

  [[nodiscard]] bool is_set(std::size_t i) const noexcept { return slots_[i].set; }

  /// Bytes that stay where they are until `commit`. Precondition: of the column's size, if it has
  /// one.
  void set(std::size_t i, bytes_view bytes) noexcept { slots_[i] = {true, false, bytes, 0}; }

  /// Bytes that are copied.
  void copy(std::size_t i, bytes_view bytes);

  template <class T>
  void set_number(std::size_t i, T value) {
    std::byte bytes[sizeof(T)];
    store_to(bytes, value);
    copy(i, bytes);
  }

  /// Any value. Throws errc::invalid_argument if the column does not take it.
  void set_value(std::size_t i, const column_value& value);

  /// Bytes of the sample. Throws errc::invalid_argument, naming the column, where a value is
  /// missing.
  [[nodiscard]] std::uint64_t size() const;

  /// Writes `size()` bytes.
  void copy_to(std::byte* out) const;

 private:
  struct slot {
    bool set = false;
    bool own = false;  // in own_, which moves as it grows
    bytes_view bytes{};
    std::size_t at = 0;
    std::size_t own_size = 0;
    [[nodiscard]] std::size_t size() const noexcept { return own ? own_size : bytes.size(); }
  };

  [[noreturn]] void fail_missing(std::size_t i) const;
  [[noreturn]] void fail_large(std::size_t i) const;

  const sample_layout* layout_;
  std::vector<slot> slots_;
  std::vector<std::byte> own_;
};

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/row_values.ipp>
#endif
