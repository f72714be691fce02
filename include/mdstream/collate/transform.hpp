#pragma once

/// The transform policy: what a program does to samples between their shard and the batch.
///
///     struct crop {
///       using output = mds::schema<mds::column<"pixels", mds::ndarray<std::uint8_t, 224, 224,
///       3>>>; void operator()(const mds::sample_view<images>& in, mds::sample_writer<output>& out,
///                       mds::sample_generator& random) const {
///         ...
///         out.write(pixels);
///       }
///     };

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/detail/encode_sample.hpp>
#include <mdstream/format/sample_view.hpp>
#include <mdstream/format/schema.hpp>
#include <mdstream/order/sample_generator.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdstream::inline v0 {

/// Takes the result of a transform for one sample.
template <class Output>
class sample_writer {
 public:
  /// Appends to `memory`.
  explicit sample_writer(std::vector<std::byte>& memory) noexcept : memory_(&memory) {}

  /// Writes the sample: one value for each column of `Output`, in its order, of any type that
  /// `writer::write` takes. Call it once. Throws `errc::invalid_argument`, which names the column,
  /// for a value that does not fit, such as an array of another shape.
  template <class... Values>
  void write(const Values&... values) {
    if (written_) throw error(errc::invalid_argument, "a transform makes one sample of each");
    detail::encode_sample<Output>(
        [this](std::uint64_t bytes) {
          const std::size_t begin = memory_->size();
          memory_->resize(begin + static_cast<std::size_t>(bytes));
          return memory_->data() + begin;
        },
        values...);
    written_ = true;
  }

  [[nodiscard]] bool written() const noexcept { return written_; }

 private:
  std::vector<std::byte>* memory_;
  bool written_ = false;
};

/// A transform reads a sample of `Schema` and writes a sample of its own schema `output`.
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
             sample_writer<typename Transform::output>& out,
             sample_generator& random) { transform(in, out, random); };

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
