#pragma once

/// Where compressed data can be entered without what lies before.

#include <mdstream/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mdstream::inline v0::detail {

/// A place in a compressed stream from which on it can be decompressed.
struct entry_point {
  std::uint64_t plain = 0;         ///< decompressed bytes before it
  std::uint64_t packed = 0;        ///< the compressed byte that is read first
  std::vector<std::byte> state{};  ///< what the codec needs besides; most need nothing

  friend bool operator==(const entry_point&, const entry_point&) = default;
};

/// How far apart entry points are at least: in decompressed bytes, whose multiples they precede,
/// and in compressed ones.
struct entry_spacing {
  std::uint64_t plain = 0;
  std::uint64_t packed = 0;
};

/// Chooses entry points among all places that a stream has: the last one up to each multiple of
/// `spacing.plain`, or one that lies a little before it.
class entry_notes {
 public:
  explicit entry_notes(entry_spacing spacing)
      : spacing_(spacing), least_gain_(spacing.plain / 64), wanted_(spacing.plain) {}

  /// A place that needs no state. Places come in their order.
  void place(std::uint64_t plain, std::uint64_t packed);
  /// A place that needs a state, which `state_of()` makes: called for few of them.
  template <class StateOf>
  void place(std::uint64_t plain, std::uint64_t packed, StateOf&& state_of) {
    reached(plain);
    if (best_ && plain <= best_->plain + least_gain_) return;
    if (is_far(plain, packed)) best_ = entry_point{plain, packed, state_of()};
  }

  /// So many bytes are decompressed.
  void reached(std::uint64_t plain);

  /// Those that were chosen since the last call.
  [[nodiscard]] std::vector<entry_point> take();

 private:
  /// Whether it is as far from the last one that was chosen as it should be.
  [[nodiscard]] bool is_far(std::uint64_t plain, std::uint64_t packed) const noexcept {
    return plain > last_.plain && packed - last_.packed >= spacing_.packed;
  }

  entry_spacing spacing_;
  std::uint64_t least_gain_;
  std::uint64_t wanted_;
  std::optional<entry_point> best_{};
  entry_point last_{};  // without its state
  std::vector<entry_point> chosen_{};
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/codec/detail/impl/entry_point.ipp>
#endif
