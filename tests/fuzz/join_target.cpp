// The fuzz target of joined datasets.

#include <mdstream/async/runtime.hpp>
#include <mdstream/codec/full.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/hash/full.hpp>
#include <mdstream/store/blocking.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/stream/detail/joined_source.hpp>

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/refusal.hpp"
#include "fuzz/targets.hpp"

namespace fuzz {

namespace mds = mdstream;
namespace detail = mdstream::detail;

namespace {

using files_by_key = std::map<std::string, std::string_view, std::less<>>;

/// The rest of an input: each part is the file of the next shard, of one dataset after the other.
files_by_key files_of(const std::vector<mds::dataset_index>& indexes, std::string_view input) {
  files_by_key out;
  for (std::size_t i = 0; i < indexes.size(); ++i)
    for (std::size_t shard = 0; shard < indexes[i].shards(); ++shard) {
      const auto zip = indexes[i].zip(shard);
      const mds::file_info file = zip ? *zip : indexes[i].raw(shard);
      out[std::to_string(i) + '/' + file.name] = take_part(input);
    }
  return out;
}

/// What a fetch would bring of a file. Throws where that is not what the index says of it.
detail::pages fetched(const detail::shard_making& made, const files_by_key& files,
                      const detail::object_range& range) {
  const std::string_view file = files.at(range.key);
  if (file.size() != range.version.bytes) made.check(range, {.bytes = file.size()});
  require(range.offset + range.bytes <= file.size());
  detail::pages out = detail::room_for_object(range.bytes, range.key);
  if (range.bytes != 0) std::memcpy(out.data(), file.data() + range.offset, out.size());
  return out;
}

void make_shard(const detail::shard_maker& maker, std::uint32_t shard, const files_by_key& files,
                const mds::dataset_index& index) {
  const auto making = maker.begin(shard);
  for (auto wanted = making->next(); !wanted.empty(); wanted = making->next()) {
    std::vector<detail::part_of_pages> bytes;
    for (const detail::object_range& each : wanted) bytes.push_back(fetched(*making, files, each));
    making->take(std::move(bytes));
  }
  std::string file;
  making->finish([&](std::uint64_t offset, mds::bytes_view bytes) {
    if (file.size() < offset + bytes.size()) file.resize(offset + bytes.size());
    std::memcpy(file.data() + offset, bytes.data(), bytes.size());
  });
  bool whole = false;
  allow_refusal([&] {
    const mds::mds_shard_view made(mds::as_bytes(file), index.shard_samples(shard));
    const mds::sample_layout& layout = index.layout(shard);
    for (std::uint64_t i = 0; i < made.size(); ++i)
      for (std::size_t c = 0; c < layout.size(); ++c) (void)layout.locate(made[i], c);
    whole = true;
  });
  require(whole);
}

}  // namespace

void join(std::string_view input) {
  static mds::runtime threads(1);
  allow_refusal([&] {
    detail::join_request request{.codecs = detail::codec_set::of<mds::full_codec>(),
                                 .hashes = detail::hash_set::of<mds::full_hash>()};
    std::vector<mds::dataset_index> indexes;
    for (int i = 0; i < 2; ++i) {
      const std::string_view text = take_part(input);
      const mds::store::memory dataset;
      dataset.write(mds::index_file_name, mds::as_bytes(text));
      request.parts.emplace_back(mds::blocking(threads, dataset));
      indexes.push_back(mds::dataset_index::parse(text));
    }
    const files_by_key files = files_of(indexes, input);
    const detail::opened_source joined = detail::open_joined(std::move(request));
    const auto index = mds::dataset_index::parse(joined.index);
    require(index.samples() == indexes[0].samples());
    for (std::uint32_t shard = 0; shard < index.shards(); ++shard)
      allow_refusal([&] { make_shard(*joined.maker, shard, files, index); });
  });
}

}  // namespace fuzz
