#pragma once

/// A batch in the training loop. A trainer's own .cu files include only this header: it does not
/// need Asio, and nvcc compiles it.

#include <mdstream/collate/detail/source.hpp>
#include <mdstream/collate/plan.hpp>
#include <mdstream/collate/ragged.hpp>
#include <mdstream/collate/views.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/fixed_string.hpp>
#include <mdstream/format/sample_view.hpp>
#include <mdstream/format/schema.hpp>
#include <mdstream/stage/stager.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// The columns that all batches of a loader have, in storage order.
struct batch_columns {
  std::vector<std::string> names{};
  std::vector<array_shape> shapes{};  ///< of one value; rank 0 for scalars and ragged columns
  std::vector<collate::source_column> sources{};
  sample_layout layout{};
};

/// What a batch is made of.
template <stage::slot Slot>
struct batch_parts {
  std::shared_ptr<const batch_columns> columns{};
  Slot slot{};
  std::vector<collate::output_column> outputs{};
  std::uint64_t pack_rows = 0;
  std::vector<std::int64_t> ids{};
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;
};

namespace detail {

/// What the elements of a batch's column are to the program: `char` for texts, `std::byte` for
/// binary values, else the element type itself.
template <class Type>
struct batch_element {
  using type = std::byte;
};
template <element T>
struct batch_element<T> {
  using type = T;
};
template <element T, std::uint64_t... Dims>
struct batch_element<ndarray<T, Dims...>> {
  using type = T;
};
template <>
struct batch_element<int_> {
  using type = std::int64_t;
};
template <>
struct batch_element<str> {
  using type = char;
};
template <>
struct batch_element<json_text> {
  using type = char;
};
template <own_encoding E>
struct batch_element<E> {
  using type = std::conditional_t<is_text(column_traits<E>::type.kind), char, std::byte>;
};

/// Whether a column's elements can be read as `T`.
template <class T>
[[nodiscard]] constexpr bool reads_as(dtype type) noexcept {
  if constexpr (std::is_same_v<T, char> || std::is_same_v<T, std::byte>)
    return type == dtype::uint8;
  else
    return type == dtype_of<T>;
}

/// Why a column cannot be had in the way that was asked for.
[[nodiscard]] constexpr std::string_view what_it_is(collate::output_kind kind,
                                                    bool scalar) noexcept {
  switch (kind) {
    case collate::output_kind::dense:
      return scalar ? "the column's values are numbers: it is scalar"
                    : "the column's values are arrays of one shape: it is dense";
    case collate::output_kind::ragged: return "the column's values vary in size: it is ragged";
    case collate::output_kind::padded: return "the column's values are rows: it is padded";
    case collate::output_kind::packed: return "the column's values share rows: it is packed";
    default: return "the batch has samples, not columns";
  }
}

}  // namespace detail

/// The samples of one rank for one step, by column. Movable, not copyable.
///
/// Lifetime: owns the memory of its views. On a device, it may be destroyed (or the loop may go to
/// the next batch) as soon as the work that reads it is enqueued on the stream that `ready_on` got.
/// Thread safety: any number of threads may call const members.
///
///     for (auto& batch : loader.epoch()) {
///       batch.ready_on(stream);  // of batches in device memory
///       train_step(batch.get<"pixels">().data(), batch.get<"label">().data(), batch.size());
///     }
template <class Schema, stage::slot Slot, collate::collator Collator = collate::ragged>
class batch {
 public:
  using schema = Schema;
  using collator = Collator;

  batch() = default;
  explicit batch(batch_parts<Slot> parts) noexcept : parts_(std::move(parts)) {}

  /// Number of samples: the batch size, or fewer at the end of an epoch. With
  /// `batching_method::once` always the batch size, unless rows are packed: padding counts. With a
  /// transform that makes any number of results: how many it has made of as many samples, perhaps
  /// 0; there is no padding then.
  [[nodiscard]] std::size_t size() const noexcept { return parts_.ids.size(); }
  [[nodiscard]] bool empty() const noexcept { return parts_.ids.empty(); }

  /// The numbers of the samples in the whole dataset, in the order of the batch; -1 for padding.
  /// All results that a transform makes of a sample have its number.
  [[nodiscard]] std::span<const std::int64_t> ids() const noexcept { return parts_.ids; }
  /// Number of samples that are no padding: they are the first. Less than `size()`, and perhaps 0,
  /// only in the last batch with `batching_method::once`, where copies of the dataset's last sample
  /// are padding.
  [[nodiscard]] std::size_t real_size() const noexcept {
    std::size_t samples = parts_.ids.size();
    while (samples != 0 && parts_.ids[samples - 1] < 0) --samples;
    return samples;
  }
  /// For each sample 1, for padding 0; in host memory. On a device compare row numbers with
  /// `real_size()`.
  ///
  ///     const std::vector<std::uint8_t> mask = batch.mask();
  ///     for (std::size_t i = 0; i < batch.size(); ++i) sum += mask[i] * loss[i];
  [[nodiscard]] std::vector<std::uint8_t> mask() const {
    std::vector<std::uint8_t> out(size(), 0);
    std::fill_n(out.begin(), real_size(), std::uint8_t{1});
    return out;
  }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return parts_.epoch; }
  /// The number of the batch in its epoch, from 0, the same on all ranks; a resume continues it.
  [[nodiscard]] std::uint64_t number() const noexcept { return parts_.number; }

  /// Makes `stream`, a stream of the loader's device, wait for the batch. The host does not wait.
  /// No effect for batches in host memory.
  void ready_on(stage::stream_handle stream = nullptr) { parts_.slot.ready_on(stream); }

  /// The column of that name, with a compile-time schema: a `scalar_view` of numbers, a
  /// `dense_view` of arrays of one shape, otherwise the view of the collator: a `ragged_view`,
  /// `padded_view` or `packed_view`. All have the same members, see collate/views.hpp.
  ///
  ///     const auto tokens = batch.get<"tokens">();
  template <fixed_string Name>
    requires(!Schema::is_dynamic)
  [[nodiscard]] auto get() const {
    static_assert(has<Name>(), "mdstream: the schema has no column of this name");
    if constexpr (has<Name>()) {
      using column = typename Schema::template column_of<Name>;
      using type = typename detail::batch_element<typename column::type>::type;
      constexpr std::size_t index = Schema::template index_of<Name>;
      constexpr auto kind =
          collate::output_of<Collator>(collate::detail::source_of(column::traits::type));
      static_assert(kind != collate::output_kind::samples,
                    "mdstream: the collator leaves samples as they are: batch.sample(i) has them");
      if constexpr (kind == collate::output_kind::dense && column::traits::type.dims.empty())
        return scalar_at<type>(index);
      else if constexpr (kind == collate::output_kind::dense)
        return dense_at<type>(index);
      else if constexpr (kind == collate::output_kind::padded)
        return padded_at<type>(index);
      else if constexpr (kind == collate::output_kind::packed)
        return packed_at<type>(index);
      else
        return ragged_at<type>(index);
    }
  }

  /// A column of numbers by name. `T` is their type.
  /// Throws `errc::not_found` if there is no such column, `errc::invalid_argument` if its elements
  /// are no `T` or its values are arrays.
  template <class T>
  [[nodiscard]] scalar_view<T> scalar(std::string_view name) const {
    return scalar_at<T>(checked<T>(name, collate::output_kind::dense, true));
  }

  /// A column by name whose values are arrays of one shape. `T` is its element type. Throws as
  /// `scalar`.
  template <class T>
  [[nodiscard]] dense_view<T> dense(std::string_view name) const {
    return dense_at<T>(checked<T>(name, collate::output_kind::dense));
  }

  /// A column by name whose values vary in size. `T` is its element type: `char` for texts,
  /// `std::byte` for other bytes. Throws as `scalar`.
  template <class T>
  [[nodiscard]] ragged_view<T> ragged(std::string_view name) const {
    return ragged_at<T>(checked<T>(name, collate::output_kind::ragged));
  }

  /// A column by name whose values were padded to one length, or packed into rows. Both throw as
  /// `scalar` does.
  template <class T>
  [[nodiscard]] padded_view<T> padded(std::string_view name) const {
    return padded_at<T>(checked<T>(name, collate::output_kind::padded));
  }
  template <class T>
  [[nodiscard]] packed_view<T> packed(std::string_view name) const {
    return packed_at<T>(checked<T>(name, collate::output_kind::packed));
  }

  /// The sequences in the rows of a packed batch. Throws `errc::invalid_argument` for a batch that
  /// is not packed.
  [[nodiscard]] packing_view packing() const {
    const std::size_t first = columns().sources.size();
    if (parts_.outputs.size() != first + 3)
      throw error(errc::invalid_argument, "the batch is not packed");
    return {static_cast<std::size_t>(parts_.pack_rows),
            static_cast<std::size_t>(parts_.outputs[first].row_elements), numbers(first),
            numbers(first + 1), numbers(first + 2)};
  }

  /// Sample `i` of a batch of `collate::none`, in host memory; valid as long as the batch. Throws
  /// `errc::invalid_argument` for a batch of columns, `errc::out_of_range`.
  [[nodiscard]] sample_view<Schema> sample(std::size_t i) const {
    const batch_columns& all = columns();
    if (parts_.outputs.empty() || parts_.outputs[0].kind != collate::output_kind::samples)
      throw error(errc::invalid_argument, "the batch has columns, not samples");
    if (i >= size())
      throw error(errc::out_of_range,
                  "sample " + std::to_string(i) + " of a batch of " + std::to_string(size()));
    const auto bytes = ragged_at<std::byte>(0)[i];
    return {{bytes.data(), bytes.size()}, all.layout};
  }

  /// The memory of all columns, its place, and the position of each column; for interoperation.
  [[nodiscard]] const std::byte* data() const noexcept { return parts_.slot.data(); }
  [[nodiscard]] stage::memory_place place() const noexcept { return stage::place_of(parts_.slot); }
  [[nodiscard]] std::span<const collate::output_column> outputs() const noexcept {
    return parts_.outputs;
  }
  /// Throws `errc::invalid_argument` for a batch that no epoch has filled.
  [[nodiscard]] const batch_columns& columns() const {
    if (!parts_.columns) throw error(errc::invalid_argument, "the batch has not been filled");
    return *parts_.columns;
  }

  /// Gives up the parts of the batch, so that the next one can use its memory.
  [[nodiscard]] batch_parts<Slot> release() && noexcept { return std::move(parts_); }

 private:
  template <fixed_string Name>
  [[nodiscard]] static constexpr bool has() noexcept {
    return Schema::find(Name.view()) < Schema::size;
  }

  template <class T>
  [[nodiscard]] scalar_view<T> scalar_at(std::size_t index) const {
    static_cast<void>(columns());
    return {reinterpret_cast<const T*>(data() + parts_.outputs[index].values_at), size()};
  }

  template <class T>
  [[nodiscard]] dense_view<T> dense_at(std::size_t index) const {
    const batch_columns& all = columns();
    const collate::output_column& out = parts_.outputs[index];
    return {reinterpret_cast<const T*>(data() + out.values_at), size(), all.shapes[index]};
  }

  template <class T>
  [[nodiscard]] ragged_view<T> ragged_at(std::size_t index) const {
    static_cast<void>(columns());
    const collate::output_column& out = parts_.outputs[index];
    return {reinterpret_cast<const T*>(data() + out.values_at),
            static_cast<std::size_t>(out.values_bytes / sizeof(T)),
            reinterpret_cast<const std::int64_t*>(data() + out.offsets_at), size()};
  }

  template <class T>
  [[nodiscard]] padded_view<T> padded_at(std::size_t index) const {
    static_cast<void>(columns());
    const collate::output_column& out = parts_.outputs[index];
    return {reinterpret_cast<const T*>(data() + out.values_at),
            reinterpret_cast<const std::uint8_t*>(data() + out.mask_at),
            reinterpret_cast<const std::int64_t*>(data() + out.offsets_at), size(),
            static_cast<std::size_t>(out.row_elements)};
  }

  template <class T>
  [[nodiscard]] packed_view<T> packed_at(std::size_t index) const {
    static_cast<void>(columns());
    const collate::output_column& out = parts_.outputs[index];
    return {reinterpret_cast<const T*>(data() + out.values_at),
            static_cast<std::size_t>(parts_.pack_rows), static_cast<std::size_t>(out.row_elements)};
  }

  [[nodiscard]] std::span<const std::int32_t> numbers(std::size_t index) const {
    const collate::output_column& out = parts_.outputs[index];
    return {reinterpret_cast<const std::int32_t*>(data() + out.values_at),
            static_cast<std::size_t>(out.values_bytes / sizeof(std::int32_t))};
  }

  template <class T>
  [[nodiscard]] std::size_t checked(std::string_view name, collate::output_kind kind,
                                    bool scalar = false) const {
    const auto fail = [name](errc code, std::string what) {
      throw error(code, diagnostics{.what = std::move(what), .column = std::string(name)});
    };
    const batch_columns& all = columns();
    std::size_t index = 0;
    while (index < all.names.size() && all.names[index] != name) ++index;
    if (index == all.names.size()) fail(errc::not_found, "the batch has no such column");
    const auto found = parts_.outputs[parts_.outputs.size() == 1 ? 0 : index].kind;
    const bool is_scalar = found == collate::output_kind::dense && all.shapes[index].empty();
    const std::string what(detail::what_it_is(found, is_scalar));
    if (found == collate::output_kind::samples) fail(errc::invalid_argument, what);
    if (!detail::reads_as<T>(all.sources[index].type))
      fail(errc::invalid_argument,
           "the column's elements are " + std::string(to_string(all.sources[index].type)));
    if (found != kind || is_scalar != scalar) fail(errc::invalid_argument, what);
    return index;
  }

  batch_parts<Slot> parts_;
};

}  // namespace mdstream::inline v0
