#pragma once

/// The texts that a program saves with its checkpoints.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Names and texts of a checkpoint, in the order in which they were saved.
///
///     saver.save(step, tensors, {.metadata = {{"loss", "2.5"}}});
///     const std::string loss = saver.resume(tensors, loader).metadata.text("loss");
class checkpoint_metadata : public std::vector<std::pair<std::string, std::string>> {
 public:
  using std::vector<std::pair<std::string, std::string>>::vector;
  checkpoint_metadata() = default;
  checkpoint_metadata(std::vector<std::pair<std::string, std::string>> all)
      : vector(std::move(all)) {}

  /// The text of the first entry with this name; empty if no entry has it.
  [[nodiscard]] std::string text(std::string_view name) const {
    for (const auto& [key, value] : *this)
      if (key == name) return value;
    return {};
  }
};

}  // namespace mdstream::inline v0
