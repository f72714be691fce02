#pragma once

/// The collator that collates nothing: a batch is its samples as they are, one after another.

#include <mdstream/collate/collator.hpp>

namespace mdstream::inline v0::collate {

/// Leaves samples as they are, to be read one by one: `batch.sample(i)`. Takes columns of any
/// encoding.
///
///     mds::loader<mds::policies<mds::collate::none>> loader(options);
///     for (auto& batch : loader.epoch())
///       for (std::size_t i = 0; i < batch.size(); ++i)
///         use(batch.sample(i).get<std::string_view>("text"));
struct none {
  static constexpr std::string_view name = "none";

  [[nodiscard]] static constexpr bool accepts(const source_column&) noexcept { return true; }
  [[nodiscard]] static constexpr output_kind output_of(const source_column&) noexcept {
    return output_kind::samples;
  }

  std::uint64_t lay_out(std::uint64_t bytes, std::uint64_t samples,
                        std::vector<output_column>& outputs) const {
    const std::uint64_t values_at = align_up((samples + 1) * sizeof(std::int64_t));
    outputs.assign(1,
                   {.kind = output_kind::samples, .values_at = values_at, .values_bytes = bytes});
    return values_at + align_up(bytes);
  }
};

static_assert(collator<none>);

}  // namespace mdstream::inline v0::collate
