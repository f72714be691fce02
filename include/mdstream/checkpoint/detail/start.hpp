#pragma once

/// How a job starts on a run: one of its ranks takes a number and chooses the checkpoint that all
/// go on from; the others hear of it through the store.

#include <mdstream/checkpoint/detail/choice.hpp>
#include <mdstream/checkpoint/detail/protocol.hpp>
#include <mdstream/checkpoint/detail/run_texts.hpp>
#include <mdstream/checkpoint/detail/sealed_json.hpp>
#include <mdstream/core/detail/chance.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/schedule/retry.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

struct start_options {
  std::string token{};  ///< of this launch, the same on all ranks; empty: they agree by other means
  std::uint64_t ranks = 1;
  std::uint64_t seed = 0;  ///< of nonce and pauses: another one in each process
  std::chrono::milliseconds patience = std::chrono::minutes(10);  ///< of ranks that wait for rank 0
  std::chrono::milliseconds store_patience = default_patience;    ///< as `creation::patience`
  warn_function warn{};
  accept_function accept{};
};

/// What a rank knows once the job has started.
struct started_run {
  start_record record{};
  std::optional<checkpoint_manifest> manifest{};  ///< of what it goes on from
  data_layout layout{};                           ///< of that
};

/// Pauses that double up to a limit, each cut by chance to between a half and all of it.
class jittered_pauses {
 public:
  jittered_pauses(std::uint64_t seed, std::chrono::milliseconds first,
                  std::chrono::milliseconds most)
      : random_(seed), next_(first), most_(most) {}
  [[nodiscard]] std::chrono::milliseconds next();

 private:
  splitmix64 random_;
  std::chrono::milliseconds next_;
  std::chrono::milliseconds most_;
};

/// The starts of the run. Throws `errc::superseded` if one besides `own` has its number or a higher
/// one.
[[nodiscard]] inline protocol require_newest_start(protocol_channel& channel, start_id own,
                                                   listed_starts& out) {
  const protocol_answer listing =
      require(co_await channel.list("starts/"), "cannot list the starts of the run");
  out = listed_starts::of(listing.listing);
  if (const auto other = out.other_from(own))
    throw error(errc::superseded, "the start " + other->text() +
                                      " of the same run has taken over from " + own.text() +
                                      ": this job saves no more");
}

/// An object of which there is one version.
struct creation {
  std::string key{};
  std::string text{};
  const char* failure = "";  ///< what an error says first
  /// With a store that refuses the object. The protocol's driver repeats other requests.
  std::chrono::milliseconds patience = default_patience;
  std::uint64_t seed = 0;
  std::optional<start_id> own{};  ///< a later start ends the attempts
};

/// Creates an object. Whether an answer was lost is settled by reading: `is_other` where there is
/// one with other bytes, which stays.
[[nodiscard]] inline protocol create_once(protocol_channel& channel, creation of, bool& is_other) {
  // For an answer that is final, or contradicts what is there.
  constexpr std::chrono::milliseconds brief = std::chrono::seconds(2);
  jittered_pauses pauses(of.seed, std::chrono::milliseconds(500), std::chrono::seconds(30));
  is_other = false;
  for (std::chrono::milliseconds waited{};;) {
    if (of.own) {
      listed_starts starts;
      co_await require_newest_start(channel, *of.own, starts);
    }
    protocol_answer made = co_await channel.create(of.key, of.text);
    if (!made.failure && made.created) co_return;
    const protocol_answer there = require(co_await channel.read(of.key), of.failure);
    if (there.found.at(0)) {
      is_other = *there.found[0] != of.text;
      co_return;
    }
    const bool transient = is_transient(made.failure);
    if (waited >= (transient ? of.patience : std::min(of.patience, brief))) {
      if (!made.failure)
        made.failure = errc::io_error, made.where.what = "the store says that it is there";
      require(std::move(made), of.failure);
    }
    const std::chrono::milliseconds next = pauses.next();
    waited += next;
    (void)co_await channel.pause(next);
  }
}

/// For a token that another launch has.
[[nodiscard]] error used_token(const std::string& token);

/// For rank 0. It claims the number after the highest, and looks again: a start that finds that
/// another has claimed this number or a higher one pauses and goes higher. As all see what was
/// written before they look, at most one goes on with a number, and of any two that go on one is
/// the later.
[[nodiscard]] inline protocol begin_start(protocol_channel& channel, start_options options,
                                          started_run& out) {
  constexpr int most_attempts = 20;
  const std::string agreed = options.token.empty() ? "" : token_key(options.token);
  if (!agreed.empty()) {
    const protocol_answer used =
        require(co_await channel.read(agreed), "cannot look whether the launch is a new one");
    if (used.found.at(0)) throw used_token(options.token);
  }
  jittered_pauses pauses(options.seed, std::chrono::milliseconds(200), std::chrono::seconds(10));
  splitmix64 nonces(options.seed ^ 0x9E3779B97F4A7C15);
  start_id id;
  listed_starts starts;
  std::vector<std::string> written;
  for (int attempt = 0;; ++attempt) {
    if (attempt == most_attempts)
      throw error(errc::unavailable,
                  "others start the same run again and again; one job at a time may use a run");
    protocol_answer listing =
        require(co_await channel.list("starts/"), "cannot list the starts of the run");
    id = {listed_starts::of(listing.listing).last_number() + 1, nonces()};
    written.push_back(claim_key(id));
    require(co_await channel.write(claim_key(id), "{}\n"), "cannot claim a start of the run");
    listing = require(co_await channel.list("starts/"), "cannot list the starts of the run");
    starts = listed_starts::of(listing.listing);
    if (!starts.other_from(id)) {
      if (starts.claimed.contains(id)) break;
      throw error(errc::unsupported,
                  "the store does not list what was just written; checkpoints need a store that "
                  "does");
    }
    (void)co_await channel.pause(pauses.next());
  }
  std::optional<chosen_checkpoint> chosen;
  co_await choose_checkpoint(channel, std::move(starts), id, options.warn, options.accept, chosen);
  out = {};
  out.record.id = id;
  out.record.ranks = options.ranks;
  if (chosen) {
    out.record.resumed = std::move(chosen->manifest_text);
    out.record.line = std::move(chosen->line);
    out.manifest = std::move(chosen->manifest);
    out.layout = std::move(chosen->layout);
  }
  const std::string text = write_start(out.record);
  require(co_await channel.write(start_key(id), text), "cannot write the start of the run");
  if (agreed.empty()) co_return;
  creation token{.key = agreed,
                 .text = text,
                 .failure = "cannot hand the start on to the other ranks",
                 .patience = options.store_patience,
                 .seed = options.seed};
  bool is_other = false;  // of a launch at the same time: its ranks are not to mix with these
  co_await create_once(channel, std::move(token), is_other);
  if (!is_other) co_return;
  written.push_back(start_key(id));
  (void)co_await channel.remove(std::move(written));  // else it would take over from the other
  throw used_token(options.token);
}

/// From the text that rank 0 handed on, by `tokens/` or a communicator.
[[nodiscard]] inline protocol join_start(protocol_channel& channel, std::string text,
                                         start_options options, started_run& out) {
  out = {};
  out.record = read_start(text, std::nullopt);
  if (out.record.ranks != options.ranks)
    throw error(errc::invalid_argument, "this rank is one of " + std::to_string(options.ranks) +
                                            ", the job that started has " +
                                            std::to_string(out.record.ranks) + " ranks");
  out.manifest = resumed_manifest(out.record);
  for (int attempt = 0; out.manifest; ++attempt) {
    const protocol_answer answer = require(co_await channel.read(out.manifest->id.layout()),
                                           "cannot read the layout of the checkpoint");
    if (!answer.found.at(0))
      throw error(errc::not_found, diagnostics{.what = "the layout of the checkpoint is gone",
                                               .url = out.manifest->id.layout()});
    try {
      out.layout = read_layout_of(*out.manifest, *answer.found[0]);
      break;
    } catch (const error&) {
      if (attempt == 1) throw;  // else it may have been damaged on the way
    }
  }
}

/// For all other ranks: waits for what rank 0 agrees to.
[[nodiscard]] inline protocol await_start(protocol_channel& channel, start_options options,
                                          started_run& out) {
  if (options.token.empty())
    throw error(errc::invalid_argument,
                "the ranks have no way to agree on a checkpoint: give a token of the launch, or a "
                "communicator");
  const std::string agreed = token_key(options.token);
  jittered_pauses pauses(options.seed, std::chrono::milliseconds(500), std::chrono::seconds(10));
  unsigned damaged = 0;
  for (std::chrono::milliseconds waited{};;) {
    protocol_answer answer =
        require(co_await channel.read(agreed), "cannot read what rank 0 has chosen");
    const auto is_whole = [](const std::string& text) {
      return text.starts_with(seal_front) && has_seal(text);
    };
    // The first time it may have been damaged on the way.
    if (answer.found.at(0) && (is_whole(*answer.found[0]) || ++damaged == 2)) {
      co_await join_start(channel, std::move(*answer.found[0]), std::move(options), out);
      co_return;
    }
    if (waited >= options.patience)
      throw error(errc::unavailable, "rank 0 has not started the run within " +
                                         std::to_string(options.patience.count() / 1000) +
                                         " seconds");
    const std::chrono::milliseconds next = pauses.next();
    waited += next;
    (void)co_await channel.pause(next);
  }
}

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/start.ipp>
#endif
