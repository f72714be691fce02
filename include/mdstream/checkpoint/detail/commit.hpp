#pragma once

/// How a checkpoint comes to be: each rank stores its files and then its record; when all have,
/// rank 0 writes the layout and creates the manifest.

#include <mdstream/checkpoint/detail/choice.hpp>
#include <mdstream/checkpoint/detail/layout_text.hpp>
#include <mdstream/checkpoint/detail/protocol.hpp>
#include <mdstream/checkpoint/detail/run_texts.hpp>
#include <mdstream/checkpoint/detail/start.hpp>
#include <mdstream/checkpoint/detail/tiling.hpp>
#include <mdstream/checkpoint/metadata.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/schedule/retry.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

struct commit_options {
  save_id id{};
  std::optional<save_id> parent{};
  std::uint64_t ranks = 1;
  checkpoint_metadata metadata{};
  std::chrono::milliseconds patience = std::chrono::hours(1);   ///< with the slowest rank
  std::chrono::milliseconds store_patience = default_patience;  ///< as `creation::patience`
  std::uint64_t seed = 0;
  warn_function warn{};
};

/// The records of all ranks, once they and the files that they name are there.
[[nodiscard]] inline protocol await_records(protocol_channel& channel, commit_options options,
                                            std::vector<rank_record>& out) {
  out.assign(options.ranks, {});
  std::vector<bool> there(options.ranks, false);
  std::vector<unsigned> damaged(options.ranks, 0);
  std::uint64_t missing = options.ranks;
  jittered_pauses pauses(options.seed, std::chrono::milliseconds(200), std::chrono::seconds(5));
  for (std::chrono::milliseconds waited{};;) {
    const protocol_answer files =
        require(co_await channel.list(options.id.directory()), "cannot list what the ranks stored");
    std::vector<std::uint64_t> fresh;
    std::vector<std::string> keys;
    for (const object_info& each : files.listing) {
      const auto rank = between(each.key, options.id.directory() + "r", ".json");
      const auto number = rank ? parse_padded(*rank, 1) : std::nullopt;
      if (!number || *number >= options.ranks || there[*number]) continue;
      fresh.push_back(*number);
      keys.push_back(each.key);
    }
    if (!keys.empty()) {
      const protocol_answer records =
          require(co_await channel.read_all(keys), "cannot read what the ranks stored");
      for (std::size_t i = 0; i < fresh.size(); ++i) {
        if (!records.found.at(i)) continue;
        const std::uint64_t rank = fresh[i];
        try {
          out[rank] = read_record(*records.found[i], options.id, rank, {.url = keys[i]});
          // Written before the record; the listing may have been on its way past them.
          if (const auto why = missing_files(out[rank].data, options.id, files.listing))
            throw error(errc::corrupt, diagnostics{.what = "what rank " + std::to_string(rank) +
                                                           " stored is not there: " + *why,
                                                   .url = options.id.directory()});
        } catch (const error&) {
          if (++damaged[rank] == 2) throw;  // the first time it may have been on the way
          continue;
        }
        if (!out[rank].failed.empty()) {
          listed_starts starts;  // a later one may be why
          co_await require_newest_start(channel, options.id.start, starts);
          throw error(errc::io_error,
                      "rank " + std::to_string(rank) + " could not save: " + out[rank].failed);
        }
        if (out[rank].ranks != options.ranks)
          throw error(errc::corrupt, "rank " + std::to_string(rank) + " is one of " +
                                         std::to_string(out[rank].ranks) + " ranks, not of " +
                                         std::to_string(options.ranks));
        there[rank] = true;
        --missing;
      }
    }
    if (missing == 0) co_return;
    if (waited >= options.patience) {
      // A later start may have swept them.
      listed_starts starts;
      co_await require_newest_start(channel, options.id.start, starts);
      std::string names;
      for (std::uint64_t rank = 0, named = 0; rank < options.ranks && named < 8; ++rank)
        if (!there[rank]) names += (named++ == 0 ? "" : ", ") + std::to_string(rank);
      throw error(errc::unavailable,
                  std::to_string(missing) + " of " + std::to_string(options.ranks) +
                      " ranks have not saved " + "within " +
                      std::to_string(options.patience.count() / 1000) + " seconds: " + names);
    }
    const std::chrono::milliseconds next = pauses.next();
    waited += next;
    (void)co_await channel.pause(next);
  }
}

/// What `latest.json` tells readers that cannot list: a hint, never believed.
[[nodiscard]] std::string write_hint(save_id newest);

/// For rank 0; done when the checkpoint is complete. Nothing that a later start could take for a
/// checkpoint is there before. Whether an answer to the creation was lost is settled by reading:
/// the manifest's bytes follow from the records, and only this start writes it.
[[nodiscard]] inline protocol commit_checkpoint(protocol_channel& channel, commit_options options,
                                                checkpoint_manifest& manifest) {
  std::vector<rank_record> records;
  co_await await_records(channel, options, records);
  manifest = {.id = options.id,
              .parent = options.parent,
              .ranks = options.ranks,
              .metadata = options.metadata};
  std::vector<data_layout> parts;
  std::uint64_t told = 0;
  for (const rank_record& each : records) {
    parts.push_back(each.data);
    if (each.loader_state.empty()) continue;
    if (manifest.loader_state.empty()) {
      manifest.loader_state = each.loader_state;
      told = each.rank;
    } else if (manifest.loader_state != each.loader_state) {
      throw error(errc::invalid_argument,
                  "the loaders of ranks " + std::to_string(told) + " and " +
                      std::to_string(each.rank) +
                      " are not at the same place; save between the same two batches on all ranks");
    }
  }
  const data_layout layout = merge_layouts(parts);
  const std::string layout_text = write_layout(layout);
  manifest.layout_bytes = layout_text.size();
  manifest.layout_crc = mdstream::detail::crc32c(as_bytes(layout_text));
  manifest.data_bytes = layout.bytes();
  const std::string text = write_manifest(manifest);
  require(co_await channel.write(options.id.layout(), layout_text), "cannot write the layout");

  creation object{.key = options.id.manifest(),
                  .text = text,
                  .failure = "cannot create the manifest",
                  .patience = options.store_patience,
                  .seed = options.seed,
                  .own = options.id.start};
  bool is_other = false;
  co_await create_once(channel, std::move(object), is_other);
  if (is_other)
    throw error(errc::io_error,
                diagnostics{.what = "the manifest of the checkpoint is there with other bytes; "
                                    "does another process save as the same start?",
                            .url = options.id.manifest()});
  std::string told_hint = write_hint(options.id);
  const protocol_answer hint = co_await channel.write("latest.json", std::move(told_hint));
  if (hint.failure && options.warn)
    options.warn("the checkpoint is complete, but latest.json could not be written: " +
                 hint.where.what);
}

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/commit.ipp>
#endif
