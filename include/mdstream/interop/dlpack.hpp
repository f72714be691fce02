#pragma once

/// Batches as DLPack tensors, which PyTorch, JAX, CuPy and others take without a copy. The structs
/// here have the layout of dlpack.h: hand a pointer on as `reinterpret_cast<DLManagedTensor*>(p)`.
/// Source: https://dmlc.github.io/dlpack/latest/c_api.html, version 1.0.

#include <mdstream/batch.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace mdstream::inline v0::dlpack {

/// DLPack's DLDevice.
struct device {
  std::int32_t type = 1;  ///< 1: CPU, 2: CUDA, 3: pinned by CUDA
  std::int32_t id = 0;    ///< of several devices; 0 of what is the host's, pinned or not
};

/// DLPack's DLDataType.
struct data_type {
  std::uint8_t code = 0;  ///< 0: signed, 1: unsigned, 2: floating
  std::uint8_t bits = 0;
  std::uint16_t lanes = 1;
};

/// DLPack's DLTensor.
struct tensor {
  void* data = nullptr;
  dlpack::device device{};
  std::int32_t ndim = 0;
  data_type dtype{};
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  ///< in elements; always given
  std::uint64_t byte_offset = 0;
};

/// DLManagedTensor: the consumer calls `deleter` once.
struct managed_tensor {
  tensor dl_tensor{};
  void* manager_ctx = nullptr;
  void (*deleter)(managed_tensor*) = nullptr;
};

/// DLManagedTensorVersioned, of DLPack 1.0 and newer.
struct managed_tensor_versioned {
  std::uint32_t major = 1, minor = 0;
  void* manager_ctx = nullptr;
  void (*deleter)(managed_tensor_versioned*) = nullptr;
  std::uint64_t flags = 0;
  tensor dl_tensor{};
};

namespace detail {

[[nodiscard]] constexpr data_type type_of(dtype type) noexcept {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(type));
  if (is_floating(type)) return {2, bits, 1};
  const bool is_signed = (static_cast<std::uint8_t>(type) & 1) != 0;
  return {static_cast<std::uint8_t>(is_signed ? 0 : 1), bits, 1};
}

/// Texts and binary values are bytes to others.
template <class T>
inline constexpr dtype element_type =
    std::is_same_v<T, char> || std::is_same_v<T, std::byte> ? dtype::uint8 : dtype_of<T>;

[[nodiscard]] constexpr device device_of(stage::memory_place place) noexcept {
  switch (place.kind) {
    case stage::memory_kind::pinned: return {3, 0};
    case stage::memory_kind::device: return {2, place.device};
    case stage::memory_kind::host: break;
  }
  return {1, 0};
}

/// A tensor with what it points to, and the batch that holds its memory.
template <class Managed>
struct holder {
  std::shared_ptr<const void> owner;
  std::vector<std::int64_t> shape, strides;
  Managed managed{};

  static void destroy(Managed* self) { delete static_cast<holder*>(self->manager_ctx); }
};

template <class Managed>
[[nodiscard]] Managed* make(std::shared_ptr<const void> owner, stage::memory_place place,
                            const void* data, dtype type, std::vector<std::int64_t> shape) {
  auto made = std::make_unique<holder<Managed>>();
  made->owner = std::move(owner);
  made->shape = std::move(shape);
  made->strides.resize(made->shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = made->shape.size(); i-- > 0; stride *= made->shape[i])
    made->strides[i] = stride;
  made->managed.dl_tensor = {.data = const_cast<void*>(data),
                             .device = device_of(place),
                             .ndim = static_cast<std::int32_t>(made->shape.size()),
                             .dtype = type_of(type),
                             .shape = made->shape.data(),
                             .strides = made->strides.data()};
  made->managed.deleter = &holder<Managed>::destroy;
  made->managed.manager_ctx = made.get();
  return &made.release()->managed;
}

template <class View>
concept shaped_view = requires(const View& view) {
  { view.data() };
  { view.shape() } -> std::same_as<array_shape>;
};

}  // namespace detail

/// A column of `batch` as a tensor: `view` is what the batch gave for it, of dense, padded or
/// packed rows. The tensor keeps the batch; its deleter may be called on any thread. `Managed` is
/// `managed_tensor` or `managed_tensor_versioned`.
///
/// Of a batch on a device, call `ready_on` with the consumer's stream before: DLPack has no word
/// for streams between two libraries of one process.
///
///     auto batch = std::make_shared<const batch_type>(std::move(from_loop));
///     at::fromDLPack(reinterpret_cast<DLManagedTensor*>(
///         mds::dlpack::export_tensor(batch, batch->get<"tokens">())));
template <class Managed = managed_tensor, class Batch, detail::shaped_view View>
[[nodiscard]] Managed* export_tensor(const std::shared_ptr<Batch>& batch, const View& view) {
  using element = std::remove_cvref_t<decltype(*view.data())>;
  std::vector<std::int64_t> shape;
  const array_shape extents = view.shape();
  for (const std::uint64_t extent : extents) shape.push_back(static_cast<std::int64_t>(extent));
  return detail::make<Managed>(batch, batch->place(), view.data(), detail::element_type<element>,
                               std::move(shape));
}

/// The same for numbers in a row: the values or offsets of a ragged column, masks, lengths,
/// cu_seqlens.
template <class Managed = managed_tensor, class Batch, class T>
[[nodiscard]] Managed* export_tensor(const std::shared_ptr<Batch>& batch, std::span<const T> view) {
  return detail::make<Managed>(batch, batch->place(), view.data(), detail::element_type<T>,
                               {static_cast<std::int64_t>(view.size())});
}

}  // namespace mdstream::inline v0::dlpack
