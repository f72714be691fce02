#pragma once

/// The tensors of one rank: what it saves and what it loads.

#include <mdstream/checkpoint/box.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// The number of this rank, from 0, among the `of` ranks that hold the same tensor.
struct replica {
  std::uint64_t index = 0;
  std::uint64_t of = 1;
};

namespace detail {

/// One tensor of a rank: `data` is the box `held`, packed and row-major; of it the rank saves the
/// box `saved`, if any.
struct listed_tensor {
  std::string name{};
  tensor_type type{};
  tensor_shape shape{};
  box held{};
  std::optional<box> saved{};
  void* data = nullptr;
};

/// Throws `errc::invalid_argument` unless a tensor can have this name in all the formats.
void require_tensor_name(std::string_view name);

/// The part that one of several holders of a tensor saves: rows along the first dimension that is
/// longer than 1, so that it is one run of bytes; small tensors and short dimensions whole, by the
/// one holder that the name chooses. All parts together are the tensor, each element once.
[[nodiscard]] std::optional<box> replica_share(std::string_view name, tensor_type type,
                                               const tensor_shape& shape, replica mine);

}  // namespace detail

/// Names, types, shapes and memory of one rank's tensors: what it saves and what it loads.
///
/// Shapes, offsets and extents are in elements, the outermost dimension first; `{}` is a scalar.
/// Each part is packed, row-major and little-endian at the pointer, on the host or on a device.
/// Lifetime: the memory is the caller's. It has to stay until a load returns, and after a save
/// until `wait_snapshot` returns. The list itself may be destroyed at once.
/// Thread safety: any number of threads may call const members.
/// Errors: `errc::invalid_argument` for a name that is empty, `__metadata__` or not UTF-8, more
/// than 64 dimensions, a box outside its tensor, or a box of 4-bit or 6-bit elements that has no
/// whole number of bytes. A save throws it for a name that is listed with two types or shapes, and
/// for boxes that leave out an element or cover one twice.
///
///     mds::tensor_list mine;  // rows first to first + count of "h.0.w", and all of "ln.w"
///     mine.add("h.0.w", mds::tensor_type::bf16, {rows, columns},
///              {{first, 0}, {count, columns}}, w);
///     mine.replicated("ln.w", mds::tensor_type::f32, {columns}, ln,
///                     {.index = rank, .of = ranks});
class tensor_list {
 public:
  /// Adds a tensor of that shape, of which this rank holds and saves one part. Every rank lists the
  /// same shape; exactly one rank has each element.
  tensor_list& add(std::string name, tensor_type type, tensor_shape shape, box part, void* data);

  /// Adds a tensor that this rank alone holds and saves.
  tensor_list& add(std::string name, tensor_type type, const tensor_shape& shape, void* data) {
    return add(std::move(name), type, shape, box::whole(shape), data);
  }

  /// Adds a tensor that `mine.of` ranks hold as a whole, with the same values. Each rank saves a
  /// share and loads the whole. Shares of 1 MiB or more are rows; one of the ranks saves a smaller
  /// tensor.
  tensor_list& replicated(std::string name, tensor_type type, const tensor_shape& shape, void* data,
                          replica mine);

  [[nodiscard]] std::size_t size() const noexcept { return tensors_.size(); }
  [[nodiscard]] bool empty() const noexcept { return tensors_.empty(); }

  /// Bytes of what this rank saves.
  [[nodiscard]] std::uint64_t saved_bytes() const noexcept;

  /// Not part of the interface for users.
  [[nodiscard]] const std::vector<detail::listed_tensor>& listed() const noexcept {
    return tensors_;
  }

 private:
  static void require_bytes(const std::string& name, tensor_type type, detail::extents of);

  tensor_list& put(detail::listed_tensor made);

  std::vector<detail::listed_tensor> tensors_;
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/tensor_list.ipp>
#endif
