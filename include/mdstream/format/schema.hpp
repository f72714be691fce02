#pragma once

/// A dataset's columns as a type: positions, offsets and views are decided while compiling.
///
///     using rows = schema<column<"tokens", ndarray<std::uint16_t, 2048>>, column<"id", int_>>;
///     rows::check(layout);                 // once, when the dataset is opened
///     rows::get<"tokens">(sample)[17];     // no look-up, no parse

#include <mdstream/core/fixed_string.hpp>
#include <mdstream/format/column_types.hpp>
#include <mdstream/format/detail/column_picks.hpp>
#include <mdstream/format/own_encoding.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace mdstream::inline v0 {

/// A column with its name and its type: one of column_types.hpp, or an encoding of your own
/// (own_encoding.hpp).
template <fixed_string Name, column_type Type>
struct column {
  static constexpr auto name = Name;
  using type = Type;
  using traits = column_traits<Type>;
  using view = typename traits::view;
};

namespace detail {

template <class C>
concept schema_column = requires {
  { C::name.view() } -> std::convertible_to<std::string_view>;
  typename C::traits;
  typename C::view;
};

}  // namespace detail

/// The columns of a dataset that a program reads, in any order; samples hold them sorted by name.
/// Datasets may have others, which are ignored.
template <detail::schema_column... Columns>
  requires(sizeof...(Columns) > 0)
class schema {
 public:
  static constexpr bool is_dynamic = false;
  static constexpr std::size_t size = sizeof...(Columns);

  /// The `I`-th column as declared.
  template <std::size_t I>
  using declared = std::tuple_element_t<I, std::tuple<Columns...>>;

  /// Declared positions in storage order: `storage_order[0]` is the column that comes first in a
  /// sample.
  static constexpr std::array<std::size_t, size> storage_order = [] {
    constexpr std::array<std::string_view, size> names{Columns::name.view()...};
    std::array<std::size_t, size> order{};
    for (std::size_t i = 0; i < size; ++i) {
      std::size_t at = i;
      for (; at > 0 && names[i] < names[order[at - 1]]; --at) order[at] = order[at - 1];
      order[at] = i;
    }
    return order;
  }();

  /// Declared position of the column of that name; `size` if there is none.
  [[nodiscard]] static constexpr std::size_t find(std::string_view name) noexcept {
    constexpr std::array<std::string_view, size> names{Columns::name.view()...};
    for (std::size_t i = 0; i < size; ++i)
      if (names[i] == name) return i;
    return size;
  }

  /// The column of that name.
  template <fixed_string Name>
    requires(find(Name.view()) < size)
  using column_of = declared<find(Name.view())>;

  /// Position of a column in storage order.
  template <fixed_string Name>
    requires(find(Name.view()) < size)
  static constexpr std::size_t index_of = [] {
    std::size_t at = 0;
    while (storage_order[at] != find(Name.view())) ++at;
    return at;
  }();

  /// Bytes of the header of a sample: a u32 for each column of variable size.
  static constexpr std::size_t header_bytes =
      4 * (std::size_t{0} + ... + (fixed_size(Columns::traits::type) ? 0 : 1));

  /// The smallest sample: its header and the columns of fixed size.
  static constexpr std::uint64_t smallest_sample =
      header_bytes + (std::uint64_t{0} + ... + fixed_size(Columns::traits::type).value_or(0));

  /// Whether every sample has the size `smallest_sample`.
  static constexpr bool is_fixed = header_bytes == 0;

  /// The bytes of a column in a sample. For a column with no variable one before it this is one
  /// comparison. Throws errc::corrupt if they reach beyond the sample.
  template <fixed_string Name>
    requires(find(Name.view()) < size)
  [[nodiscard]] static bytes_view raw(bytes_view sample) {
    constexpr slot where = slots[index_of<Name>];
    if (sample.size() < smallest_sample) fail(sample.size(), Name.view());
    std::uint64_t begin = header_bytes + where.fixed_before;
    for (std::size_t i = 0; i < where.variable_before; ++i)
      begin += load<std::uint32_t>(sample.data() + 4 * i);
    std::uint64_t length = where.size;
    if constexpr (where.is_variable)
      length = load<std::uint32_t>(sample.data() + 4 * where.variable_before);
    if (where.variable_before + (where.is_variable ? 1 : 0) > 0 && begin + length > sample.size())
      fail(sample.size(), Name.view());
    return sample.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(length));
  }

  /// The value of a column in a sample, as its type's view: valid as long as the sample's bytes.
  /// Throws errc::corrupt, naming the column, if the bytes are no such value.
  template <fixed_string Name>
    requires(find(Name.view()) < size)
  [[nodiscard]] static typename column_of<Name>::view get(bytes_view sample) {
    const bytes_view value = raw<Name>(sample);
    try {
      return column_of<Name>::traits::decode(value);
    } catch (const error& e) {
      fail(e, Name.view());
    }
  }

  /// Names and encodings, in declared order.
  [[nodiscard]] static std::vector<column_spec> columns() {
    return {{std::string(Columns::name.view()),
             detail::encoding_text_of<typename Columns::traits>()}...};
  }

  /// The layout of MDS samples of this schema.
  [[nodiscard]] static sample_layout layout() {
    return sample_layout::of(
        {column_layout{.name = std::string(Columns::name.view()),
                       .encoding_text = detail::encoding_text_of<typename Columns::traits>(),
                       .type = Columns::traits::type,
                       .size = fixed_size(Columns::traits::type)}...});
  }

  /// Checks that samples of `found` have these columns, and perhaps others.
  /// Throws errc::schema_mismatch, naming the column, with both lists of columns if they do not.
  static void check(const sample_layout& found) { (void)detail::column_picks(found, layout()); }

 private:
  struct slot {
    std::uint64_t fixed_before = 0;
    std::size_t variable_before = 0;
    std::uint64_t size = 0;
    bool is_variable = false;
  };

  static constexpr std::array<slot, size> slots = [] {
    constexpr std::array<std::uint64_t, size> sizes{
        fixed_size(Columns::traits::type).value_or(0)...};
    std::array<slot, size> out{};
    slot next{};
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t bytes = sizes[storage_order[i]];
      next.size = bytes;
      next.is_variable = bytes == 0;
      out[i] = next;
      next.fixed_before += bytes;
      if (bytes == 0) ++next.variable_before;
    }
    return out;
  }();

  static constexpr bool distinct = [] {
    constexpr std::array<std::string_view, size> names{Columns::name.view()...};
    for (std::size_t i = 1; i < size; ++i)
      if (names[storage_order[i]] == names[storage_order[i - 1]]) return false;
    return true;
  }();
  static_assert(distinct, "a schema names a column twice");

  // Not inlined, so that what reads a column is.
  [[noreturn, gnu::noinline]] static void fail(const error& why, std::string_view name) {
    diagnostics where = why.where();
    where.column = name;
    throw error(why.code(), std::move(where));
  }
  [[noreturn, gnu::noinline]] static void fail(std::size_t sample_size, std::string_view name) {
    throw error(errc::corrupt, diagnostics{.what = "the column reaches beyond its sample of " +
                                                   std::to_string(sample_size) + " bytes",
                                           .column = std::string(name)});
  }
};

/// Columns by name at run time: any dataset fits.
///
///     mds::loader<> loader({.remote = "s3://bucket/c4", .batch_size = 32});  // the default schema
///     for (auto& batch : loader.epoch()) use(batch.scalar<std::int64_t>("label"));
struct dynamic_schema {
  static constexpr bool is_dynamic = true;
  static void check(const sample_layout&) noexcept {}
};

/// What the policies' member `schema` can be.
template <class S>
concept schema_policy = requires(const sample_layout& layout) {
  { S::is_dynamic } -> std::convertible_to<bool>;
  S::check(layout);
};

static_assert(schema_policy<dynamic_schema>);
static_assert(schema_policy<schema<column<"x", int_>>>);

}  // namespace mdstream::inline v0
