#pragma once

/// Which checkpoint a run goes on from.

#include <mdstream/checkpoint/detail/layout.hpp>
#include <mdstream/checkpoint/detail/protocol.hpp>
#include <mdstream/checkpoint/detail/run_keys.hpp>
#include <mdstream/checkpoint/detail/run_texts.hpp>
#include <mdstream/checkpoint/metadata.hpp>
#include <mdstream/core/error.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// The checkpoints of a line, in the order in which they are tried: those that `own` saved, the
/// latest step first, then those of each start before it up to the step where the next went on.
/// What else there is was rolled back, or saved by a start that another had taken over from.
[[nodiscard]] std::vector<save_id> checkpoints_of_line(
    start_id own, const std::vector<start_record::ancestor>& line,
    const std::set<save_id>& manifests);

/// Starts of a listing of `starts/`: with a record, or with a claim at least.
struct listed_starts {
  std::set<start_id> recorded{};
  std::set<start_id> claimed{};

  [[nodiscard]] static listed_starts of(const std::vector<object_info>& listing);

  /// Another start that has this number or a higher one.
  [[nodiscard]] std::optional<start_id> other_from(start_id own) const;
  [[nodiscard]] std::uint64_t last_number() const;
};

[[nodiscard]] std::set<save_id> listed_manifests(const std::vector<object_info>& listing);

[[nodiscard]] std::set<save_id> listed_notes(const std::vector<object_info>& listing,
                                             std::string_view folder);

/// A checkpoint that is whole, as far as that can be told without its data.
struct chosen_checkpoint {
  checkpoint_manifest manifest{};
  std::string manifest_text{};
  data_layout layout{};
  std::vector<start_record::ancestor> line{};  ///< as of a start that goes on from it
};

using warn_function = std::function<void(const std::string&)>;

/// As `saver_options::accept`.
using accept_function = std::function<bool(const checkpoint_metadata&)>;

/// Why a checkpoint can not be used, or nothing.
[[nodiscard]] std::optional<std::string> missing_files(const data_layout& layout, save_id id,
                                                       const std::vector<object_info>& listing);

/// The layout that a manifest names.
[[nodiscard]] data_layout read_layout_of(const checkpoint_manifest& manifest,
                                         const std::string& text);

/// Looks at one candidate; finds nothing, with a warning, where it can not be used: it is damaged,
/// or a part is missing. A failure of the store is thrown. `text` is its manifest, if that is
/// known.
[[nodiscard]] inline protocol try_checkpoint(protocol_channel& channel, save_id id,
                                             std::string text, const warn_function& warn,
                                             std::optional<chosen_checkpoint>& found) {
  chosen_checkpoint out;
  found.reset();
  std::string why;
  bool known = false, read = false;
  // What does not fit its checksum is fetched once more: it may have been damaged on the way.
  for (int attempt = 0; attempt < 2 && !read; ++attempt) {
    if (!known && (text.empty() || attempt > 0)) {
      protocol_answer answer =
          require(co_await channel.read(id.manifest()), "cannot read a manifest");
      if (!answer.found.at(0)) {
        why = "its manifest is gone";
        break;
      }
      text = std::move(*answer.found[0]);
    }
    try {
      out.manifest = read_manifest(text, id, {.url = id.manifest()});
      known = true;
    } catch (const error& e) {
      if (e.code() != errc::corrupt) throw;
      why = e.what();
    }
    if (!known) continue;
    protocol_answer answer = require(co_await channel.read(id.layout()), "cannot read a layout");
    if (!answer.found.at(0)) {
      why = "its layout is missing";
      break;
    }
    try {
      out.layout = read_layout_of(out.manifest, *answer.found[0]);
      read = true;
    } catch (const error& e) {
      if (e.code() != errc::corrupt) throw;
      why = e.what();
    }
  }
  if (read) {
    const protocol_answer data =
        require(co_await channel.list(id.directory()), "cannot list the files of a checkpoint");
    if (const auto missing = missing_files(out.layout, id, data.listing)) {
      why = *missing;
      read = false;
    }
  }
  if (!read) {
    if (warn) warn("the checkpoint " + id.text() + " is passed over: " + why);
    co_return;
  }
  out.manifest_text = std::move(text);
  found = std::move(out);
}

/// The newest whole checkpoint of the right line that `accept` takes, as of the starts before
/// `before`: that of the last start that has a record. Nothing in a run without checkpoints, or if
/// its first one is not accepted; `errc::corrupt` if there are checkpoints and all are damaged or
/// refused.
///
/// A start whose record is damaged or gone, though it has checkpoints, does not say what it went on
/// from: behind its own come those of the start before it.
[[nodiscard]] inline protocol choose_checkpoint(protocol_channel& channel, listed_starts starts,
                                                std::optional<start_id> before,
                                                const warn_function& warn,
                                                const accept_function& accept,
                                                std::optional<chosen_checkpoint>& found) {
  const protocol_answer objects =
      require(co_await channel.list("manifest/"), "cannot list the checkpoints of the run");
  const std::set<save_id> manifests = listed_manifests(objects.listing);
  std::set<save_id> bad;
  bool bad_is_known = false;
  std::set<start_id> candidates = starts.recorded;
  for (const save_id& each : manifests) candidates.insert(each.start);
  std::set<save_id> tried;
  bool begins_anew = false;
  for (auto at = candidates.rbegin(); at != candidates.rend(); ++at) {
    const start_id newest = *at;
    if (before && newest.number >= before->number) continue;
    start_record record;
    bool line_is_known = false;
    const auto unknown = [&](const std::string& why) {
      if (warn) warn("the start " + newest.text() + " does not say what it went on from: " + why);
    };
    if (starts.recorded.contains(newest)) {
      for (int attempt = 0; attempt < 2 && !line_is_known; ++attempt) {
        const protocol_answer answer =
            require(co_await channel.read(start_key(newest)), "cannot read the last start");
        if (!answer.found.at(0)) break;
        try {
          record = read_start(*answer.found[0], newest, {.url = start_key(newest)});
          (void)resumed_manifest(record);
          line_is_known = true;
        } catch (const error& e) {
          if (e.code() != errc::corrupt) throw;
          if (attempt == 1) unknown(e.what());
        }
      }
    }
    if (!line_is_known) record = {};
    std::set<save_id> named = manifests;
    std::optional<save_id> resumed;
    if (line_is_known && !record.line.empty()) {
      resumed = save_id{record.line.front().start, record.line.front().through};
      named.insert(*resumed);  // its manifest stands in the record
    }
    const auto order = checkpoints_of_line(newest, record.line, named);
    for (const save_id& each : order) {
      if (!tried.insert(each).second) continue;
      if (!bad_is_known) {
        bad = listed_notes(
            require(co_await channel.list("bad/"), "cannot list what is known to be damaged")
                .listing,
            "bad/");
        bad_is_known = true;
      }
      if (bad.contains(each)) {
        if (warn) warn("the checkpoint " + each.text() + " is passed over: its bytes are damaged");
        continue;
      }
      std::string text = resumed && each == *resumed ? record.resumed : std::string();
      co_await try_checkpoint(channel, each, std::move(text), warn, found);
      if (!found) continue;
      if (accept && !accept(found->manifest.metadata)) {
        if (warn) warn("the checkpoint " + each.text() + " is passed over: it is not accepted");
        begins_anew = !found->manifest.parent;
        found.reset();
        continue;
      }
      // From here on: this checkpoint, then what stands before it on the line and still exists.
      found->line.push_back({each.start, each.step});
      std::set<start_id> exist;
      for (const save_id& other : order) exist.insert(other.start);
      bool behind = each.start == newest;
      for (const auto& ancestor : record.line) {
        if (behind && ancestor.start != each.start && exist.contains(ancestor.start))
          found->line.push_back(ancestor);
        behind = behind || ancestor.start == each.start;
      }
      co_return;
    }
    if (line_is_known) break;
  }
  if (!tried.empty() && !begins_anew)
    throw error(
        errc::corrupt,
        "none of the run's " + std::to_string(tried.size()) +
            " checkpoints can be used, the newest is " + tried.rbegin()->text() +
            ": see the warnings; to train from the beginning, take another place for the run");
}

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/choice.ipp>
#endif
