#pragma once

#include <mdstream/order/detail/shuffle/py1e_cursor.hpp>
#include <mdstream/order/detail/shuffle/py1e_plan.hpp>
#include <mdstream/order/shuffle/py1e.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace mdstream::inline v0::shuffle::detail {

/// An epoch shuffled by py1e: a model of `id_sequence`. Memory: the plan, which copies share, and a
/// window for each canonical node that has been read.
class py1e_sequence {
 public:
  explicit py1e_sequence(std::shared_ptr<const detail::py1e_plan> plan)
      : plan_(std::move(plan)), cursors_(plan_->nodes()) {}
  /// A copy has the plan in common and windows of its own.
  py1e_sequence(const py1e_sequence& other) : py1e_sequence(other.plan_) {}
  py1e_sequence(py1e_sequence&&) noexcept = default;
  py1e_sequence& operator=(py1e_sequence other) noexcept {
    std::swap(plan_, other.plan_);
    std::swap(cursors_, other.cursors_);
    std::swap(work_, other.work_);
    return *this;
  }
  ~py1e_sequence() = default;

  [[nodiscard]] std::uint64_t size() const noexcept { return plan_->units().size(); }

  void read(std::uint64_t first, std::span<std::int64_t> out) {
    for (std::size_t node = node_of(first); !out.empty(); ++node) {
      const auto n = std::min<std::uint64_t>(out.size(), plan_->begin(node + 1) - first);
      if (!cursors_[node]) cursors_[node] = std::make_unique<detail::py1e_cursor>(plan_, node);
      cursors_[node]->read(first - plan_->begin(node), out.first(n), *work_);
      out = out.subspan(n);
      first += n;
    }
  }

 private:
  [[nodiscard]] std::size_t node_of(std::uint64_t place) const {
    std::size_t low = 0, high = plan_->nodes();
    while (high - low > 1) {
      const std::size_t mid = low + (high - low) / 2;
      (plan_->begin(mid) <= place ? low : high) = mid;
    }
    return low;
  }

  std::shared_ptr<const detail::py1e_plan> plan_;
  std::vector<std::unique_ptr<detail::py1e_cursor>> cursors_;
  std::unique_ptr<detail::py1e_workspace> work_ = std::make_unique<detail::py1e_workspace>();
};

}  // namespace mdstream::inline v0::shuffle::detail

namespace mdstream::inline v0::shuffle {

MDSTREAM_INLINE mdstream::detail::any_sequence py1e::open(const shuffle_task& task) const {
  return detail::py1e_sequence(std::make_shared<const detail::py1e_plan>(task));
}

}  // namespace mdstream::inline v0::shuffle
