#pragma once

/// The shuffle buffer, behind the loader: samples wait in memory, which is on the device if the
/// batches are, and are drawn from it by a permutation. This header says which sample waits in
/// which row and which comes next; cuda/shuffle_buffer.cuh moves the bytes.

#include <mdstream/core/error.hpp>
#include <mdstream/order/detail/keyed_permutation.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::shuffle {

/// What `buffer` shuffles, and how widely.
struct buffer_options {
  std::uint64_t samples = 0;  ///< of this rank, in the epoch
  std::uint64_t size = 0;  ///< samples that wait at one time, at least 2: the window of the shuffle
  std::uint64_t batch = 1;  ///< samples that are put in at one time, at most
  std::uint64_t seed = 0;   ///< of the draws
  std::uint64_t epoch = 0;  ///< from 0; each has its own draws
};

/// Rows of the buffer's memory, one after another.
struct buffer_stretch {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// What the rows of one draw are: row `k` is that of sample `order(first + k)`, which waits in row
/// `order(first + k) % slots`.
struct buffer_draw {
  mdstream::detail::windowed_permutation order;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t slots = 0;
};

/// The samples of an epoch in a window's permutation, `windowed_permutation`: sample `x` of the
/// loader is drawn at most `size` places away from where it came. A pure function of options and
/// position: the same on every device and host, and after a resume.
///
///     while (buffer.drawable() == 0 && !buffer.at_end()) {
///       const std::string before = loader.state();
///       epoch.next(batch);
///       kernels::put_rows(memory, buffer.put(batch.size(), before), batch.data(), stream);
///     }
///     const auto count = std::min(buffer.drawable(), wanted);
///     kernels::draw_rows(memory, buffer.draw(count), ids, out, stream);
class buffer {
 public:
  /// Throws `errc::invalid_argument` for sizes that cannot be right.
  explicit buffer(const buffer_options& given) : options_(given), order_(make_order(given)) {}

  /// Rows that the buffer's memory has.
  [[nodiscard]] std::uint64_t slots() const noexcept { return options_.size + options_.batch - 1; }

  /// Samples that can be drawn without putting more in; 0 where more are needed, or at the end.
  [[nodiscard]] std::uint64_t drawable() const noexcept {
    if (drawn_ == options_.samples) return 0;
    const mdstream::detail::windowed_permutation::block now = order_.second_block(drawn_);
    return put_ < needed_for(now) ? 0 : now.end - drawn_;
  }
  [[nodiscard]] std::uint64_t drawn() const noexcept { return drawn_; }
  [[nodiscard]] bool at_end() const noexcept { return drawn_ == options_.samples; }

  /// Takes the loader's next `count` samples in: where they go, one or two stretches of rows. Only
  /// when nothing can be drawn. `loader_state` is the loader's state before it gave them; the
  /// buffer keeps two or three of those. Throws `errc::invalid_argument` for more samples than
  /// `batch` or than the epoch has.
  [[nodiscard]] std::array<buffer_stretch, 2> put(std::uint64_t count,
                                                  std::string_view loader_state) {
    if (count > options_.batch || count > options_.samples - put_ || drawable() != 0)
      throw error(errc::invalid_argument,
                  "the buffer does not take " + std::to_string(count) + " samples now");
    keep_state(count, loader_state);
    const std::uint64_t first = put_ % slots();
    const std::uint64_t before_end = std::min(count, slots() - first);
    put_ += count;
    return {{{first, before_end}, {0, count - before_end}}};
  }

  /// The next `count` samples, which are at most `drawable()`.
  /// Throws `errc::invalid_argument` for more.
  [[nodiscard]] buffer_draw draw(std::uint64_t count) {
    if (count > drawable())
      throw error(errc::invalid_argument,
                  "the buffer has fewer than " + std::to_string(count) + " samples to draw");
    const buffer_draw out{.order = order_, .first = drawn_, .count = count, .slots = slots()};
    drawn_ += count;
    return out;
  }

  /// Where the run is, one line: what the order depends on, the draws, and the state from which the
  /// loader gives the samples that wait once more. A resume reads at most `size` samples again.
  ///
  ///     mdstream-pool 2 SAMPLES SIZE SEED EPOCH DRAWN POSITION LOADER_STATE
  ///
  /// `mdstream-pool` is the name of the format. POSITION is how many samples the loader had given
  /// in its state. Version 1 had none of the four options, so that nobody could tell whose it was;
  /// it is refused.
  [[nodiscard]] std::string state() const {
    const std::uint64_t oldest = oldest_needed();
    const kept_state* best = nullptr;
    for (const kept_state& kept : kept_)
      if (kept.position <= oldest) best = &kept;
    std::string out(magic);
    const auto add = [&](std::uint64_t value) { out += std::to_string(value) + ' '; };
    add(version);
    for (const auto& [name, value] : identity()) add(value);
    add(drawn_);
    add(best == nullptr ? 0 : best->position);
    if (best != nullptr) out += best->loader_state;
    return out;
  }

  /// Goes on from what `state` gave to a buffer of equal options; `batch` may differ. Returns the
  /// state to give to the loader, nothing where the epoch is read from its beginning. The loader
  /// gives some samples again that were drawn before; they are put in all the same, and are not
  /// drawn again. Throws `errc::corrupt` for text that is no state, `errc::unsupported` for one of
  /// another version, `errc::state_mismatch` for one of other options, with the first that differs.
  std::optional<std::string> load_state(std::string_view text) {
    if (!text.starts_with(magic))
      throw error(errc::corrupt, "this is no state of a shuffle buffer");
    text.remove_prefix(magic.size());
    require_version(number(text));
    for (const auto& [name, here] : identity()) require_same(name, number(text), here);
    buffer fresh(options_);
    fresh.drawn_ = number(text);
    fresh.put_ = number(text);
    if (fresh.drawn_ > options_.samples || fresh.put_ > fresh.oldest_needed() ||
        (text.empty() && fresh.put_ != 0))
      throw error(errc::corrupt,
                  "the buffer's state contradicts itself: " + std::to_string(fresh.drawn_) +
                      " samples drawn, " + (text.empty() ? "no" : "a") +
                      " state of the loader after " + std::to_string(fresh.put_));
    if (!text.empty()) fresh.kept_.push_back({fresh.put_, std::string(text)});
    *this = std::move(fresh);
    if (text.empty()) return std::nullopt;
    return std::string(text);
  }

 private:
  struct kept_state {
    std::uint64_t position = 0;  ///< samples that the loader had given
    std::string loader_state{};
  };
  static constexpr std::string_view magic = "mdstream-pool ";
  static constexpr std::uint64_t version = 2;

  struct named_number {
    std::string_view name;
    std::uint64_t value = 0;
  };
  /// What the order depends on.
  [[nodiscard]] std::array<named_number, 4> identity() const noexcept {
    return {{{"samples", options_.samples},
             {"size", options_.size},
             {"seed", options_.seed},
             {"epoch", options_.epoch}}};
  }

  static void require_version(std::uint64_t saved) {
    if (saved != version)
      throw error(errc::unsupported, "a buffer's state of version " + std::to_string(saved) +
                                         "; this program reads version " + std::to_string(version));
  }
  static void require_same(std::string_view name, std::uint64_t saved, std::uint64_t here) {
    if (saved != here)
      throw error(errc::state_mismatch, "the buffer's state was saved with " + std::string(name) +
                                            ' ' + std::to_string(saved) + ", this buffer has " +
                                            std::to_string(here));
  }

  [[nodiscard]] static mdstream::detail::windowed_permutation make_order(
      const buffer_options& given) {
    if (given.size < 2 || given.batch == 0 || given.size > std::uint64_t{1} << 48 ||
        given.batch > std::uint64_t{1} << 48)
      throw error(errc::invalid_argument,
                  "a buffer has at least 2 samples and takes at least 1 at a time");
    return {given.samples, given.size,
            mdstream::detail::derive_key(mdstream::detail::derive_key(given.seed, given.epoch), 0)};
  }

  /// Samples that have to be there before any of this block is drawn.
  [[nodiscard]] std::uint64_t needed_for(
      const mdstream::detail::windowed_permutation::block& drawn) const noexcept {
    return order_.first_block(drawn.end - 1).end;
  }
  /// The first sample that a draw still reads. All before it can be overwritten.
  [[nodiscard]] std::uint64_t oldest_needed() const noexcept {
    if (drawn_ == options_.samples) return options_.samples;
    return order_.first_block(order_.second_block(drawn_).begin).begin;
  }

  /// A resume begins where a block of the permutation begins, so those states suffice.
  void keep_state(std::uint64_t count, std::string_view loader_state) {
    const std::uint64_t end = order_.first_block(put_).end;
    const bool begins_block = order_.first_block(put_).begin == put_ || end < put_ + count;
    if (!begins_block) return;
    while (kept_.size() > 1 && kept_[1].position <= oldest_needed()) kept_.erase(kept_.begin());
    kept_.push_back({put_, std::string(loader_state)});
  }

  [[nodiscard]] static std::uint64_t number(std::string_view& text) {
    std::uint64_t out = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
    const auto length = static_cast<std::size_t>(end - text.data());
    if (failure != std::errc{} || length == text.size() || text[length] != ' ')
      throw error(errc::corrupt, "this is no state of a shuffle buffer");
    text.remove_prefix(length + 1);
    return out;
  }

  buffer_options options_;
  mdstream::detail::windowed_permutation order_;
  std::uint64_t put_ = 0;
  std::uint64_t drawn_ = 0;
  std::vector<kept_state> kept_{};
};

}  // namespace mdstream::inline v0::shuffle
