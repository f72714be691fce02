#pragma once

/// The tensors of one rank: what it saves and what it loads.

#include <mdstream/checkpoint/box.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/core/utf8.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Which of `of` ranks that hold the same tensor this one is.
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
inline void require_tensor_name(std::string_view name) {
  if (name.empty() || name == "__metadata__" || first_invalid_utf8(name) != name.size())
    throw error(errc::invalid_argument,
                "a tensor can not be named \"" + std::string(name) +
                    "\": a name is UTF-8 text, not empty and not __metadata__");
}

/// The part that one of several holders of a tensor saves: rows along the first dimension that is
/// longer than 1, so that it is one run of bytes; small tensors and short dimensions whole, by the
/// one holder that the name chooses. All parts together are the tensor, each element once.
[[nodiscard]] inline std::optional<box> replica_share(std::string_view name, tensor_type type,
                                                      const tensor_shape& shape, replica mine) {
  constexpr std::uint64_t least = std::uint64_t{1} << 20;
  box out = box::whole(shape);
  std::size_t cut = 0;
  while (cut < shape.size() && shape[cut] == 1) ++cut;
  const std::uint64_t row = cut < shape.size() && shape[cut] != 0
                                ? *element_count(shape) / shape[cut] * bits_of(type)
                                : 0;
  if (row == 0 || row % 8 != 0 || shape[cut] < mine.of || shape[cut] * (row / 8) < least) {
    if (fnv1a().add(name).value() % mine.of != mine.index) return std::nullopt;
    return out;
  }
  const std::uint64_t each = shape[cut] / mine.of, more = shape[cut] % mine.of;
  out.offset[cut] = mine.index * each + (mine.index < more ? mine.index : more);
  out.extent[cut] = each + (mine.index < more ? 1 : 0);
  return out;
}

}  // namespace detail

/// Names, types, shapes and memory of one rank's tensors. The memory is the caller's.
///
/// Each part is packed and row-major where the pointer shows, on the host or on a device.
/// Errors: `errc::invalid_argument` for a name that is not UTF-8 text, a box outside its tensor,
/// a box of 4-bit or 6-bit elements that is not made of whole bytes, or a tensor that is listed
/// with two types or shapes.
///
///     mds::tensor_list mine;
///     mine.add("h.0.w", mds::tensor_type::bf16, {rows, columns}, {{first, 0}, {mine, columns}},
///     w); mine.replicated("ln.w", mds::tensor_type::f32, {columns}, ln, {.index = rank, .of =
///     ranks});
class tensor_list {
 public:
  /// A tensor of that shape, of which this rank holds one part. Every rank lists the same shape;
  /// each element is saved by one rank.
  tensor_list& add(std::string name, tensor_type type, tensor_shape shape, box part, void* data) {
    std::optional<box> saved = part;
    return put({.name = std::move(name),
                .type = type,
                .shape = std::move(shape),
                .held = std::move(part),
                .saved = std::move(saved),
                .data = data});
  }

  /// A tensor that this rank holds, and saves, alone.
  tensor_list& add(std::string name, tensor_type type, const tensor_shape& shape, void* data) {
    return add(std::move(name), type, shape, box::whole(shape), data);
  }

  /// A tensor that `mine.of` ranks hold as a whole, with the same values: each saves a share.
  tensor_list& replicated(std::string name, tensor_type type, const tensor_shape& shape, void* data,
                          replica mine) {
    if (mine.index >= mine.of)
      throw error(errc::invalid_argument, "\"" + name + "\" can not be replica " +
                                              std::to_string(mine.index) + " of " +
                                              std::to_string(mine.of));
    require_bytes(name, type, shape);
    std::optional<box> share = detail::replica_share(name, type, shape, mine);
    return put({.name = std::move(name),
                .type = type,
                .shape = shape,
                .held = box::whole(shape),
                .saved = std::move(share),
                .data = data});
  }

  [[nodiscard]] std::size_t size() const noexcept { return tensors_.size(); }
  [[nodiscard]] bool empty() const noexcept { return tensors_.empty(); }

  /// Bytes of what this rank saves.
  [[nodiscard]] std::uint64_t saved_bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const detail::listed_tensor& each : tensors_)
      if (each.saved) sum += detail::tensor_bytes(each.type, each.saved->extent).value_or(0);
    return sum;
  }

  /// Not part of the interface for users.
  [[nodiscard]] const std::vector<detail::listed_tensor>& listed() const noexcept {
    return tensors_;
  }

 private:
  static void require_bytes(const std::string& name, tensor_type type, detail::extents of) {
    if (!detail::tensor_bytes(type, of))
      throw error(errc::invalid_argument, "\"" + name + "\" of " + std::string(to_string(type)) +
                                              ' ' + detail::to_string(of) +
                                              " is not a number of whole bytes below 2^61");
  }

  tensor_list& put(detail::listed_tensor made) {
    detail::require_tensor_name(made.name);
    require_bytes(made.name, made.type, made.shape);
    if (!detail::lies_within(made.held, made.shape))
      throw error(errc::invalid_argument,
                  "\"" + made.name + "\" has the shape " + detail::to_string(made.shape) +
                      ", outside which lies the part at " + detail::to_string(made.held.offset) +
                      " of extent " + detail::to_string(made.held.extent));
    require_bytes(made.name, made.type, made.held.extent);
    if (made.data == nullptr && !detail::is_empty(made.held.extent))
      throw error(errc::invalid_argument, "\"" + made.name + "\" has no memory");
    tensors_.push_back(std::move(made));
    return *this;
  }

  std::vector<detail::listed_tensor> tensors_;
};

}  // namespace mdstream::inline v0
