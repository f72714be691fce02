#pragma once

/// The values of one sample on their way into a shard.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/sample_encoder.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace mdstream::inline v0::raw::detail {

/// Values by the number of their column in the layout. No memory is allocated once the first rows
/// were made.
class row_values {
 public:
  /// `layout` outlives this.
  explicit row_values(const sample_layout& layout) : layout_(&layout), slots_(layout.size()) {}

  /// Forgets all values.
  void clear() {
    for (slot& each : slots_) each.set = false;
    own_.clear();
  }

  [[nodiscard]] bool is_set(std::size_t i) const noexcept { return slots_[i].set; }

  /// Bytes that stay where they are until `commit`. Precondition: of the column's size, if it has
  /// one.
  void set(std::size_t i, bytes_view bytes) noexcept { slots_[i] = {true, false, bytes, 0}; }

  /// Bytes that are copied.
  void copy(std::size_t i, bytes_view bytes) {
    const std::size_t at = own_.size();
    own_.insert(own_.end(), bytes.begin(), bytes.end());
    slots_[i] = {true, true, {}, at, bytes.size()};
  }

  template <class T>
  void set_number(std::size_t i, T value) {
    std::byte bytes[sizeof(T)];
    store_to(bytes, value);
    copy(i, bytes);
  }

  /// Any value. Throws errc::invalid_argument if the column does not take it.
  void set_value(std::size_t i, const column_value& value) {
    const auto encoded = encode_value((*layout_)[i].type, value);
    std::visit(
        [&](const auto& each) {
          const std::size_t at = own_.size();
          own_.resize(at + static_cast<std::size_t>(each.size()));
          if (each.size() > 0) each.copy_to(own_.data() + at);
          slots_[i] = {true, true, {}, at, static_cast<std::size_t>(each.size())};
        },
        encoded);
  }

  /// Bytes of the sample. Throws errc::invalid_argument, naming the column, where a value is
  /// missing.
  [[nodiscard]] std::uint64_t size() const {
    std::uint64_t size = 4 * std::uint64_t{layout_->variable_columns()};
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (!slots_[i].set) fail_missing(i);
      const std::uint64_t bytes = slots_[i].size();
      if (bytes > std::numeric_limits<std::uint32_t>::max()) fail_large(i);
      size += bytes;
    }
    return size;
  }

  /// Writes `size()` bytes.
  void copy_to(std::byte* out) const {
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

 private:
  struct slot {
    bool set = false;
    bool own = false;  // in own_, which moves as it grows
    bytes_view bytes{};
    std::size_t at = 0;
    std::size_t own_size = 0;
    [[nodiscard]] std::size_t size() const noexcept { return own ? own_size : bytes.size(); }
  };

  [[noreturn]] void fail_missing(std::size_t i) const {
    throw error(errc::invalid_argument, diagnostics{.what = "the row has no value for a column",
                                                    .column = (*layout_)[i].name});
  }
  [[noreturn]] void fail_large(std::size_t i) const {
    throw error(errc::unsupported, diagnostics{.what = "a value of 4 GiB or more cannot be stored",
                                               .column = (*layout_)[i].name});
  }

  const sample_layout* layout_;
  std::vector<slot> slots_;
  std::vector<std::byte> own_;
};

}  // namespace mdstream::inline v0::raw::detail
