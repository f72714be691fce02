#pragma once

/// How the objects of a run are named in its store.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::detail {

/// A number of at least `width` digits, filled with zeros, as this library writes it.
[[nodiscard]] std::string padded(std::uint64_t value, std::size_t width);

/// The number that `padded` made this text of.
[[nodiscard]] std::optional<std::uint64_t> parse_padded(std::string_view text, std::size_t width);

/// One start of a run's job: starts are numbered, and the nonce tells apart two that took the same
/// number.
struct start_id {
  std::uint64_t number = 0;
  std::uint64_t nonce = 0;

  /// `00000012-0123456789abcdef`.
  [[nodiscard]] std::string text() const;

  [[nodiscard]] static std::optional<start_id> parse(std::string_view text);

  friend auto operator<=>(const start_id&, const start_id&) = default;
};

/// One checkpoint: what a start saved at a step.
struct save_id {
  start_id start{};
  std::uint64_t step = 0;

  /// `00000012-0123456789abcdef-000000001000`.
  [[nodiscard]] std::string text() const { return start.text() + '-' + padded(step, 12); }

  [[nodiscard]] static std::optional<save_id> parse(std::string_view text);

  /// `data/<start>/<step>/`.
  [[nodiscard]] std::string directory() const {
    return "data/" + start.text() + '/' + padded(step, 12) + '/';
  }
  [[nodiscard]] std::string manifest() const { return "manifest/" + text() + ".json"; }
  [[nodiscard]] std::string layout() const { return directory() + "layout.json"; }
  [[nodiscard]] std::string record(std::uint64_t rank) const {
    return directory() + "r" + std::to_string(rank) + ".json";
  }

  friend auto operator<=>(const save_id&, const save_id&) = default;
};

/// The name of a rank's file within `save_id::directory`.
[[nodiscard]] std::string data_file_name(std::uint64_t rank, std::uint64_t number);

[[nodiscard]] inline std::string claim_key(start_id start) {
  return "starts/" + start.text() + ".claim";
}
[[nodiscard]] inline std::string start_key(start_id start) {
  return "starts/" + start.text() + ".json";
}
[[nodiscard]] inline std::string bad_key(save_id save, std::uint64_t rank) {
  return "bad/" + save.text() + '/' + std::to_string(rank);
}
[[nodiscard]] inline std::string pin_key(save_id save, std::string_view who) {
  return "pins/" + save.text() + '/' + std::string(who);
}

/// A launch's name as a part of a key: what a key cannot hold is replaced. Throws
/// `errc::invalid_argument` for an empty one.
[[nodiscard]] std::string token_key(std::string_view token);

/// The rest of `key` between `front` and `back`, where it has both.
[[nodiscard]] std::optional<std::string_view> between(std::string_view key, std::string_view front,
                                                      std::string_view back) noexcept;

/// The checkpoint of a manifest's key; of a note's beneath `bad/` or `pins/`.
[[nodiscard]] std::optional<save_id> save_of_manifest(std::string_view key);
[[nodiscard]] std::optional<save_id> save_of_note(std::string_view key, std::string_view folder);

/// The checkpoint whose data lie at this key, if it is of a name that this library gives: a rank's
/// file or record, or a layout.
[[nodiscard]] std::optional<save_id> save_of_data(std::string_view key);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/run_keys.ipp>
#endif
