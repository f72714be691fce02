#pragma once

/// What a shuffler is, and the choice among several by name.

#include <mdstream/core/error.hpp>
#include <mdstream/order/detail/sequence.hpp>
#include <mdstream/order/shuffle_task.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace mdstream::inline v0 {

/// A model has a name and opens the shuffled epoch: every sample id of `task.units` once, in an
/// order that depends on the task alone, canonical node after canonical node (node c holds the
/// places from c * n / nodes). It is a value without state of its own; `open` may be called from
/// any thread.
///
/// `static constexpr std::uint64_t canonical_nodes_factor` is optional: canonical nodes for each
/// node, in a run that sets no number of them.
///
///     static_assert(mds::shuffler<backwards>);  // docs/own.md has this one
template <class T>
concept shuffler = std::copyable<T> && std::default_initializable<T> &&
                   requires(const T& model, const shuffle_task& task) {
                     { model.name() } -> std::convertible_to<std::string_view>;
                     { model.open(task) } -> std::convertible_to<detail::any_sequence>;
                   };

/// Canonical nodes for each node that a shuffler asks for, in a run that sets no number of them.
template <shuffler S>
[[nodiscard]] constexpr std::uint64_t canonical_nodes_factor(const S& model) {
  if constexpr (requires { model.canonical_nodes_factor(); })
    return model.canonical_nodes_factor();
  else
    return 1;
}

/// One of several shufflers, chosen by name: the first one until then.
///
///     using policies =
///         mds::policies<mds::any_shuffler<mds::shuffle::py1e, mds::shuffle::bijection>>;
template <shuffler... Models>
class any_shuffler {
 public:
  any_shuffler() = default;
  /// Throws `errc::unsupported` for a name that none of the models has; the message lists them.
  explicit any_shuffler(std::string_view name) {
    const bool found = ((Models{}.name() == name && (chosen_ = Models{}, true)) || ...);
    if (found) return;
    std::string known;
    ((known += known.empty() ? "" : ", ", known += Models{}.name()), ...);
    throw error(errc::unsupported, "no shuffle algorithm is called \"" + std::string(name) +
                                       "\": this program has " + known);
  }

  [[nodiscard]] std::string_view name() const {
    return std::visit([](const auto& m) -> std::string_view { return m.name(); }, chosen_);
  }
  [[nodiscard]] detail::any_sequence open(const shuffle_task& task) const {
    return std::visit([&task](const auto& m) -> detail::any_sequence { return m.open(task); },
                      chosen_);
  }
  [[nodiscard]] std::uint64_t canonical_nodes_factor() const {
    return std::visit([](const auto& m) { return v0::canonical_nodes_factor(m); }, chosen_);
  }

 private:
  std::variant<Models...> chosen_;
};

}  // namespace mdstream::inline v0
