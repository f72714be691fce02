#pragma once

/// The collator for samples of any columns: what has a fixed size becomes dense, what has not
/// becomes values and offsets.

#include <mdstream/collate/collator.hpp>

namespace mdstream::inline v0::collate {

struct ragged {
  static constexpr std::string_view name = "ragged";

  [[nodiscard]] static constexpr bool accepts(const source_column& column) noexcept {
    return column.type != dtype::none;
  }

  std::uint64_t lay_out(std::span<const source_column> sources,
                        std::span<const column_measure> measures, std::uint64_t samples,
                        std::vector<output_column>& outputs) const {
    outputs.clear();
    std::uint64_t end = 0;
    for (std::uint32_t source = 0; source < sources.size(); ++source) {
      output_column out{.source = source, .values_bytes = measures[source].total};
      if (sources[source].value_bytes == 0) {
        out.kind = output_kind::ragged;
        out.offsets_at = end;
        end = align_up(end + (samples + 1) * sizeof(std::int64_t));
      }
      out.values_at = end;
      end = align_up(end + out.values_bytes);
      outputs.push_back(out);
    }
    return end;
  }
};

static_assert(collator<ragged>);

}  // namespace mdstream::inline v0::collate
