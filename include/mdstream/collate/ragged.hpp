#pragma once

/// The collator for samples of any columns: what has a fixed size becomes dense, what has not
/// becomes values and offsets.

#include <mdstream/collate/collator.hpp>

namespace mdstream::inline v0::collate {

namespace detail {

/// Appends the dense or ragged output of a source at the slab's end so far.
inline void append_plain(std::uint32_t source, const source_column& about,
                         const column_measure& measure, std::uint64_t samples,
                         std::vector<output_column>& outputs, std::uint64_t& end) {
  output_column out{.source = source, .values_bytes = measure.total};
  if (about.value_bytes == 0) {
    out.kind = output_kind::ragged;
    out.offsets_at = end;
    end = align_up(end + (samples + 1) * sizeof(std::int64_t));
  }
  out.values_at = end;
  end = align_up(end + out.values_bytes);
  outputs.push_back(out);
}

}  // namespace detail

/// Collates columns whose values vary in size to values and offsets; columns of fixed size are
/// dense. The default of the policies.
///
///     for (auto& batch : loader.epoch())
///       for (const auto tokens : batch.get<"tokens">()) use(tokens);  // a span for each sample
struct ragged {
  static constexpr std::string_view name = "ragged";

  [[nodiscard]] static constexpr bool accepts(const source_column& column) noexcept {
    return column.type != dtype::none;
  }

  std::uint64_t lay_out(std::span<const source_column> sources,
                        std::span<const detail::column_measure> measures, std::uint64_t samples,
                        std::vector<output_column>& outputs) const {
    outputs.clear();
    std::uint64_t end = 0;
    for (std::uint32_t source = 0; source < sources.size(); ++source)
      detail::append_plain(source, sources[source], measures[source], samples, outputs, end);
    return end;
  }
};

static_assert(collator<ragged>);

}  // namespace mdstream::inline v0::collate
