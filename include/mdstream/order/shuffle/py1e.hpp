#pragma once

/// The shuffle "py1e", the default: every sample moves by a random distance of up to 0.625 block
/// sizes, so that a reader needs only the shards of that neighbourhood. Source: MosaicML Streaming.

#include <mdstream/order/detail/shuffle/py1e_cursor.hpp>
#include <mdstream/order/detail/shuffle/py1e_plan.hpp>
#include <mdstream/order/shuffler.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::shuffle {

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

/// Spans of shards are dealt to canonical nodes by the run's seed and shuffled by the epoch's;
/// samples are shuffled inside their span, and then spread.
struct py1e {
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "py1e"; }
  /// One pass over the generator: about 2 ns a sample.
  [[nodiscard]] py1e_sequence open(const shuffle_task& task) const {
    return py1e_sequence(std::make_shared<const detail::py1e_plan>(task));
  }
};

static_assert(shuffler<py1e>);

}  // namespace mdstream::inline v0::shuffle
