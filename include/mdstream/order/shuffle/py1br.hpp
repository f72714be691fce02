#pragma once

/// The shuffle "py1br".

#include <mdstream/order/shuffle/tables.hpp>
#include <mdstream/order/shuffler.hpp>

#include <string_view>

namespace mdstream::inline v0::shuffle {

struct py1br {
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "py1br"; }
  [[nodiscard]] table_sequence open(const shuffle_task& task) const {
    return {task.units, table_py1br(task)};
  }
};

static_assert(shuffler<py1br>);

}  // namespace mdstream::inline v0::shuffle
