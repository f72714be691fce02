#pragma once

#include <mdstream/checkpoint/tensor_list.hpp>
#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void require_tensor_name(std::string_view name) {
  if (name.empty() || name == "__metadata__" || first_invalid_utf8(name) != name.size())
    throw error(errc::invalid_argument,
                "a tensor can not be named \"" + std::string(name) +
                    "\": a name is UTF-8 text, not empty and not __metadata__");
}

MDSTREAM_INLINE std::optional<box> replica_share(std::string_view name, tensor_type type,
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

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0 {

MDSTREAM_INLINE tensor_list& tensor_list::add(std::string name, tensor_type type,
                                              tensor_shape shape, box part, void* data) {
  std::optional<box> saved = part;
  return put({.name = std::move(name),
              .type = type,
              .shape = std::move(shape),
              .held = std::move(part),
              .saved = std::move(saved),
              .data = data});
}

MDSTREAM_INLINE tensor_list& tensor_list::replicated(std::string name, tensor_type type,
                                                     const tensor_shape& shape, void* data,
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

MDSTREAM_INLINE std::uint64_t tensor_list::saved_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const detail::listed_tensor& each : tensors_)
    if (each.saved) sum += detail::tensor_bytes(each.type, each.saved->extent).value_or(0);
  return sum;
}

MDSTREAM_INLINE void tensor_list::require_bytes(const std::string& name, tensor_type type,
                                                detail::extents of) {
  if (!detail::tensor_bytes(type, of))
    throw error(errc::invalid_argument, "\"" + name + "\" of " + std::string(to_string(type)) +
                                            ' ' + detail::to_string(of) +
                                            " is not a number of whole bytes below 2^61");
}

MDSTREAM_INLINE tensor_list& tensor_list::put(detail::listed_tensor made) {
  detail::require_tensor_name(made.name);
  if (made.shape.size() > detail::most_dimensions)
    throw error(errc::invalid_argument, "\"" + made.name + "\" has " +
                                            std::to_string(made.shape.size()) +
                                            " dimensions; a checkpoint's tensors have " +
                                            std::to_string(detail::most_dimensions) + " at most");
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

}  // namespace mdstream::inline v0
