#pragma once

/// The shuffle "py1e".

#include <mdstream/order/shuffle/tables.hpp>
#include <mdstream/order/shuffler.hpp>

#include <string_view>

namespace mdstream::inline v0::shuffle {

struct py1e {
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "py1e"; }
  [[nodiscard]] table_sequence open(const shuffle_task& task) const {
    return {task.units, table_py1e(task)};
  }
};

static_assert(shuffler<py1e>);

}  // namespace mdstream::inline v0::shuffle
