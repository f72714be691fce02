#pragma once

/// The saved state of a run as JSON text: the five keys of a Python run, and one key of our own
/// that says which run it belongs to.

#include <mdstream/core/json.hpp>
#include <mdstream/order/progress.hpp>
#include <mdstream/stream/stream_info.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0 {

/// What has to be the same for a state to mean anything: where one field differs, the samples that
/// the saved run had are not those that this run would have had.
struct run_identity {
  std::uint64_t dataset = 0;  ///< fingerprint of the shards' samples, see order/fingerprint.hpp
  std::uint64_t mix = 0;      ///< fingerprint of the samples of each stream in an epoch
  std::uint64_t epoch_size = 0;
  std::uint64_t global_batch_size = 0;
  std::string batching{};
  std::string sampling{};
  std::uint64_t sampling_granularity = 1;
  std::string shuffle{};  ///< the shuffler's name; "none" without one
  std::uint64_t shuffle_block_size = 0;
  std::uint64_t source = 0;  ///< fingerprint of foreign files, their cuts and options; 0: none
  std::uint64_t phase = 0;   ///< of the mix schedule that `mix` and `epoch_size` are of

  friend bool operator==(const run_identity&, const run_identity&) = default;
};

/// A state as it is saved and loaded. States of Python have no identity.
struct run_state {
  resume_point at{};
  std::optional<run_identity> identity{};
  /// Shards, numbered over all streams, in whose place others are read. Ascending.
  std::vector<std::uint32_t> substituted{};
  /// Samples in whose place others were read, by the rank that saved the state. A record: what is
  /// read in the place of a bad sample does not depend on it.
  replaced_samples bad_samples{};
};

/// What may differ between the run that saved a state and the one that continues from it; see
/// `loader::load_state`. Combine them with `|`.
enum class accept : std::uint8_t {
  nothing = 0,
  global_batch_size = 1,  ///< another global batch size
  dataset = 2,            ///< other samples: shards were added, or a dataset was replaced
  mix = 4,                ///< other weights, epoch size, sampling or batching method
};

[[nodiscard]] constexpr accept operator|(accept a, accept b) noexcept {
  return static_cast<accept>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
/// Whether `given` names all that `wanted` names.
[[nodiscard]] constexpr bool accepts(accept given, accept wanted) noexcept {
  return (static_cast<unsigned>(given) & static_cast<unsigned>(wanted)) ==
         static_cast<unsigned>(wanted);
}

namespace detail {

/// Python keeps a state in shared memory of this many bytes, its terminator included.
inline constexpr std::size_t python_state_bytes = 4096;
inline constexpr int state_version = 1;

[[nodiscard]] std::uint64_t from_hex(const std::string& text, std::string_view key);

[[nodiscard]] json::array numbers(const std::vector<std::uint32_t>& from);

/// `instead`: what `load_state` could accept to go on nevertheless; empty if nothing.
[[noreturn]] void refuse_state(std::string what, std::string_view instead);

[[noreturn]] void state_differs(std::string_view field, const std::string& saved,
                                const std::string& here, std::string_view instead = {});

/// Whether the two runs have the same samples.
[[nodiscard]] bool same_samples(const run_identity& a, const run_identity& b) noexcept;

/// Whether their epochs are drawn alike from the same samples.
[[nodiscard]] bool same_epochs(const run_identity& a, const run_identity& b) noexcept;

}  // namespace detail

/// The text of a state: one line of JSON, sorted keys, below 4,096 bytes. If it would be longer, it
/// is without `bad_samples.first`. Throws `errc::unsupported` if it still is.
[[nodiscard]] std::string to_text(const run_state& state);

/// Reads a state, of this library or of Python. Throws `errc::corrupt`, naming key or byte, for
/// text that is no state.
[[nodiscard]] run_state parse_state(std::string_view text);

/// Throws `errc::state_mismatch`, which says what differs and what accepts it, unless a state that
/// was saved by `saved` can go on in `here`, or what differs is accepted.
void require_same_run(const run_identity& saved, const run_identity& here,
                      accept accepted = accept::nothing);

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/state.ipp>
#endif
