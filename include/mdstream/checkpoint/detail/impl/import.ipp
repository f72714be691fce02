#pragma once

#include <mdstream/async/runtime.hpp>
#include <mdstream/checkpoint/detail/commit.hpp>
#include <mdstream/checkpoint/detail/cut_tensors.hpp>
#include <mdstream/checkpoint/detail/file_plan.hpp>
#include <mdstream/checkpoint/detail/renamed.hpp>
#include <mdstream/checkpoint/detail/run_store.hpp>
#include <mdstream/checkpoint/detail/start.hpp>
#include <mdstream/checkpoint/import.hpp>
#include <mdstream/core/detail/chance.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/core/detail/pages.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Reads a stored file back. Throws `errc::corrupt` unless it has the checksums that it was stored
/// with.
MDSTREAM_INLINE void require_stored(run_store& store, const std::string& key, const data_file& file,
                                    unsigned requests) {
  in_parallel(file.crcs.size(), requests, [&](std::size_t i) {
    const std::uint64_t begin = i * checksum_block;
    const pages block(static_cast<std::size_t>(std::min(checksum_block, file.bytes - begin)));
    store.read(key, begin, {block.data(), block.size()});
    if (crc32c({block.data(), block.size()}) == file.crcs[i]) return;
    throw error(errc::corrupt, diagnostics{.what = "the store gives back other bytes than it took",
                                           .url = store.url(key),
                                           .byte = begin});
  });
}

/// One file of an import: its tensors from where they lie, to the store.
MDSTREAM_INLINE void import_file(const checkpoint& from, const renamed_tensors& names,
                                 const tensor_list& parts, const planned_file& plan,
                                 run_store& store, const std::string& key, data_file& file,
                                 unsigned requests) {
  const pages memory(static_cast<std::size_t>(plan.bytes));
  std::memcpy(memory.data(), plan.head.data(), plan.head.size());
  tensor_list wanted;
  for (const planned_piece& each : plan.pieces) {
    const listed_tensor& as = parts.listed()[each.listed];
    wanted.add(as.name, as.type, as.shape, each.part, memory.data() + each.at);
  }
  from.load(wanted, names.reading(requests));
  for (std::size_t at = 0; at < memory.size(); at += checksum_block)
    file.crcs.push_back(
        crc32c({memory.data() + at, std::min<std::size_t>(checksum_block, memory.size() - at)}));
  store.write(key, {memory.data(), memory.size()});
  require_stored(store, key, file, requests);
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0 {

MDSTREAM_INLINE std::string import_checkpoint(const checkpoint& from, opened_store run,
                                              const import_options& options) {
  constexpr std::size_t files_at_once = 2;  // one is fetched while the other is stored
  const detail::renamed_tensors names(from, options.rename, options.cast);
  runtime threads(1);
  detail::run_store store(std::move(run), patient_requests(options.patience), options.warn,
                          &threads);
  if (!detail::listed_manifests(store.list("manifest/")).empty())
    throw error(errc::invalid_argument,
                {.what = "the run has checkpoints; a model can only be the first of a run",
                 .url = store.url("")});
  std::byte none{};  // the plan is of places; the memory comes with each file
  tensor_list parts;
  for (const tensor_info& each : names.all()) {
    std::vector<box> boxes;
    detail::cut_box(each.type, box::whole(each.shape), options.file_bytes.value, boxes);
    for (box& part : boxes) parts.add(each.name, each.type, each.shape, std::move(part), &none);
  }
  const auto files = detail::plan_files(parts, 0, options.file_bytes.value);

  const std::uint64_t seed = detail::random_bits();
  detail::protocol_channel channel;
  detail::started_run started;
  store.run(channel, begin_start(channel, {.seed = seed, .warn = options.warn}, started));
  detail::rank_record record{.id = {started.record.id, options.step}, .rank = 0, .ranks = 1};
  record.data = layout_of(parts, files);
  detail::in_parallel(files.size(), files_at_once, [&](std::size_t i) {
    import_file(from, names, parts, files[i], store, record.id.directory() + files[i].name,
                record.data.files[i], options.requests);
    if (options.progress) options.progress(files[i].bytes);
  });
  store.publish(record.id.record(0), write_record(record));
  detail::checkpoint_manifest made;
  store.run(channel, commit_checkpoint(channel,
                                       {.id = record.id,
                                        .ranks = 1,
                                        .metadata = from.metadata(),
                                        .store_patience = options.patience,
                                        .seed = seed,
                                        .warn = options.warn},
                                       made));
  return made.id.text();
}

}  // namespace mdstream::inline v0
