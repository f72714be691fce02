#pragma once

/// The transform policy: what a program does to samples between their shard and the batch.
///
///     struct crop {
///       using image = mds::ndarray<std::uint8_t, 224, 224, 3>;
///       using output = mds::schema<mds::column<"pixels", image>>;
///       void operator()(const mds::sample_view<images>& in, mds::sample_writer<output>& out,
///                       mds::sample_generator& random) const {
///         ...
///         out.write(pixels);
///       }
///     };

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/column_argument.hpp>
#include <mdstream/format/detail/encode_named.hpp>
#include <mdstream/format/detail/encode_sample.hpp>
#include <mdstream/format/sample_view.hpp>
#include <mdstream/format/schema.hpp>
#include <mdstream/order/sample_generator.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace mdstream::inline v0 {

namespace detail {

template <class V>
inline constexpr bool is_named = false;
template <fixed_string Name, class V>
inline constexpr bool is_named<column_argument<Name, V>> = true;

/// Appends a sample to `memory`, which stays as it was if this throws.
template <class Output, class... Values>
void append_sample(std::vector<std::byte>& memory, const Values&... values) {
  const auto behind = [&memory](std::uint64_t bytes) {
    const std::size_t begin = memory.size();
    memory.resize(begin + static_cast<std::size_t>(bytes));
    return memory.data() + begin;
  };
  if constexpr (sizeof...(Values) > 0 && (is_named<Values> && ...))
    detail::encode_named<Output>(behind, values...);
  else
    detail::encode_sample<Output>(behind, values...);
}

}  // namespace detail

/// Takes the result of a transform that makes one sample of each.
template <class Output>
class sample_writer {
 public:
  /// Appends to `memory`.
  explicit sample_writer(std::vector<std::byte>& memory) noexcept : memory_(&memory) {}

  /// Writes the sample as `writer::write` does: one value for each column of `Output`, in its
  /// order, or with names in any order, `out.write(col<"label">(3), col<"x">(x))`. Call it once.
  /// Throws `errc::invalid_argument`, which names the column, for a value that does not fit, such
  /// as an array of another shape.
  template <class... Values>
  void write(const Values&... values) {
    if (written_)
      throw error(errc::invalid_argument,
                  "a transform makes one sample of each, unless it takes a results_writer");
    detail::append_sample<Output>(*memory_, values...);
    written_ = true;
  }

  [[nodiscard]] bool written() const noexcept { return written_; }

 private:
  std::vector<std::byte>* memory_;
  bool written_ = false;
};

/// Takes the results of a transform that makes any number of samples of each: none, which filters
/// the sample out, or several, which split it.
///
///     struct long_texts {
///       using output = texts;
///       void operator()(const mds::sample_view<texts>& in, mds::results_writer<output>& out,
///                       mds::sample_generator&) const {
///         if (in.get<"text">().size() >= 100) out.write(in);
///       }
///     };
template <class Output>
class results_writer {
 public:
  /// Appends the results to `memory`, and to `ends` where each of them ends there.
  results_writer(std::vector<std::byte>& memory, std::vector<std::size_t>& ends) noexcept
      : memory_(&memory), ends_(&ends) {}

  /// Writes a sample, as `sample_writer::write`. The results keep the order of the calls.
  template <class... Values>
  void write(const Values&... values) {
    detail::append_sample<Output>(*memory_, values...);
    ends_->push_back(memory_->size());
  }
  /// Writes a sample as it was read.
  void write(const sample_view<Output>& unchanged) {
    const bytes_view bytes = unchanged.bytes();
    memory_->insert(memory_->end(), bytes.begin(), bytes.end());
    ends_->push_back(memory_->size());
  }

 private:
  std::vector<std::byte>* memory_;
  std::vector<std::size_t>* ends_;
};

namespace detail {

/// Whether a transform makes any number of samples of each: the writer that it takes tells.
template <class Transform, class Schema>
inline constexpr bool makes_results = false;
template <class Transform, class Schema>
  requires requires { typename Transform::output; }
inline constexpr bool makes_results<Transform, Schema> =
    !std::is_invocable_v<const Transform&, const sample_view<Schema>&,
                         sample_writer<typename Transform::output>&, sample_generator&> &&
    std::is_invocable_v<const Transform&, const sample_view<Schema>&,
                        results_writer<typename Transform::output>&, sample_generator&>;

/// What a transform writes to.
template <class Transform, class Schema>
using writer_of =
    std::conditional_t<makes_results<Transform, Schema>, results_writer<typename Transform::output>,
                       sample_writer<typename Transform::output>>;

}  // namespace detail

/// A transform reads a sample of `Schema` and writes a sample of its own schema `output`, or any
/// number of them if it takes a `results_writer` in place of the `sample_writer`. It returns
/// nothing.
///
/// Several threads of the pool call it at a time, so it is const. Its random numbers depend only on
/// the seed, the epoch and the sample's position in the canonical order, so they are the same on
/// any number of ranks and threads. If it throws, the caller of `next` gets the exception with the
/// sample's id. It may block; destroying the loader waits until it returns.
template <class Transform, class Schema>
concept sample_transform =
    std::move_constructible<Transform> && schema_policy<typename Transform::output> &&
    !Transform::output::is_dynamic &&
    requires(const Transform& transform, const sample_view<Schema>& in,
             detail::writer_of<Transform, Schema>& out, sample_generator& random) {
      { transform(in, out, random) } -> std::same_as<void>;
    };

namespace transform {

/// Samples are collated as they are; costs nothing.
struct none {};

}  // namespace transform

namespace detail {

template <class Transform, class Schema>
struct transformed_schema {
  using type = typename Transform::output;
};
template <class Schema>
struct transformed_schema<transform::none, Schema> {
  using type = Schema;
};

}  // namespace detail

/// The schema of the batches of these policies.
template <class Policies>
using batch_schema = typename detail::transformed_schema<typename Policies::transform,
                                                         typename Policies::schema>::type;

}  // namespace mdstream::inline v0
