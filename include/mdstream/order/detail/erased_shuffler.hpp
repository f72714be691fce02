#pragma once

/// A shuffler as a value of one type: it is asked once an epoch.

#include <mdstream/order/detail/sequence.hpp>
#include <mdstream/order/shuffle_task.hpp>
#include <mdstream/order/shuffler.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::detail {

/// Copies share the shuffler, which has no state. Any thread may ask.
class erased_shuffler {
 public:
  /// Of no shuffler: only to be assigned to.
  erased_shuffler() = default;
  template <class S>
    requires(!std::same_as<S, erased_shuffler> && shuffler<S>)
  erased_shuffler(S chosen) : chosen_(std::make_shared<model<S>>(std::move(chosen))) {}

  [[nodiscard]] std::string_view name() const { return chosen_->name(); }
  [[nodiscard]] any_sequence open(const shuffle_task& task) const { return chosen_->open(task); }
  [[nodiscard]] std::uint64_t canonical_nodes_factor() const {
    return chosen_->canonical_nodes_factor();
  }

 private:
  struct interface {
    virtual ~interface() = default;
    [[nodiscard]] virtual std::string_view name() const = 0;
    [[nodiscard]] virtual any_sequence open(const shuffle_task&) const = 0;
    [[nodiscard]] virtual std::uint64_t canonical_nodes_factor() const = 0;
  };

  template <shuffler S>
  struct model final : interface {
    explicit model(S s) : chosen(std::move(s)) {}
    [[nodiscard]] std::string_view name() const override { return chosen.name(); }
    [[nodiscard]] any_sequence open(const shuffle_task& task) const override {
      return chosen.open(task);
    }
    [[nodiscard]] std::uint64_t canonical_nodes_factor() const override {
      return v0::canonical_nodes_factor(chosen);
    }
    S chosen;
  };

  std::shared_ptr<const interface> chosen_;
};

}  // namespace mdstream::inline v0::detail
