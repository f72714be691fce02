#pragma once

/// The shuffle "naive".

#include <mdstream/order/shuffle/tables.hpp>
#include <mdstream/order/shuffler.hpp>

#include <string_view>

namespace mdstream::inline v0::shuffle {

struct naive {
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "naive"; }
  [[nodiscard]] table_sequence open(const shuffle_task& task) const {
    return {task.units, table_naive(task)};
  }
};

static_assert(shuffler<naive>);

}  // namespace mdstream::inline v0::shuffle
