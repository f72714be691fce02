#pragma once

/// The shuffle "py1s".

#include <mdstream/order/shuffle/tables.hpp>
#include <mdstream/order/shuffler.hpp>

#include <string_view>

namespace mdstream::inline v0::shuffle {

struct py1s {
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "py1s"; }
  /// Canonical nodes for each node, in a run that sets no number of them.
  [[nodiscard]] static constexpr std::uint64_t canonical_nodes_factor() noexcept { return 64; }
  [[nodiscard]] table_sequence open(const shuffle_task& task) const {
    return {task.units, table_py1s(task)};
  }
};

static_assert(shuffler<py1s>);

}  // namespace mdstream::inline v0::shuffle
