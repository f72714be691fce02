// The fuzz targets of the files by which the processes of a cache directory work together.

#include <mdstream/cache/detail/journal.hpp>
#include <mdstream/cache/detail/members.hpp>
#include <mdstream/cache/detail/registered_streams.hpp>
#include <mdstream/cache/detail/shard_facts.hpp>
#include <mdstream/cache/detail/shard_seal.hpp>
#include <mdstream/cache/detail/stream_origin.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/order/detail/keyed_permutation.hpp>
#include <mdstream/order/detail/resample.hpp>
#include <mdstream/order/shuffle/py1e.hpp>
#include <mdstream/store/store.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/refusal.hpp"
#include "fuzz/scratch_file.hpp"
#include "fuzz/targets.hpp"

namespace fuzz {

namespace detail = mdstream::detail;

namespace {

/// Keeps one plan.
struct plan_file {
  std::vector<std::byte> bytes{};

  detail::plan_store store() {
    return {.load = [this](std::string_view) { return bytes; },
            .save = [this](std::string_view,
                           mdstream::bytes_view made) { bytes.assign(made.begin(), made.end()); }};
  }
};

/// The order of an epoch of 320 samples, some of them twice.
std::vector<std::int64_t> order_by(const detail::plan_store* plans) {
  static const auto table = std::make_shared<detail::shard_table>(
      std::vector<mdstream::stream_shards>{{.samples = {50, 7, 120, 33, 90, 20}}});
  static const mdstream::order_options options{.shuffle = true};
  static const std::vector<std::uint64_t> choose{500};
  static const mdstream::shuffle_units units =
      detail::resampler(table, 9176, 3, options).units(0, 1, choose);
  auto sequence = mdstream::shuffle::py1e{}.open({.units = units,
                                                  .num_canonical_nodes = 3,
                                                  .seed = 9176,
                                                  .epoch = 3,
                                                  .block_size = 60,
                                                  .plans = plans});
  std::vector<std::int64_t> out(sequence.size());
  sequence.read(0, out);
  return out;
}

/// Gives a plan the key of that order, and the checksum that is right of it.
void seal_plan(std::vector<std::byte>& bytes, std::uint64_t key) {
  std::vector<std::uint64_t> words(bytes.size() / 8);
  if (words.size() < 5) return;
  std::memcpy(words.data(), bytes.data(), 8 * words.size());
  const std::size_t nodes = std::min<std::size_t>(words[2], words.size() - 5);
  const std::span<const std::uint64_t> all(words), entries = all.subspan(5 + nodes);
  std::uint64_t lanes[8] = {}, sum = 0;
  for (std::size_t i = 0; i < entries.size() / 8 * 8; ++i)
    lanes[i % 8] = detail::derive_key(lanes[i % 8], entries[i]);
  for (const std::uint64_t first : all.subspan(5, nodes)) sum = detail::derive_key(sum, first);
  for (const std::uint64_t lane : lanes) sum = detail::derive_key(sum, lane);
  mdstream::store_to(bytes.data() + 8, key);
  mdstream::store_to(bytes.data() + 32, sum);
}

void read_plan(std::string_view input) {
  static const std::vector<std::int64_t> right = order_by(nullptr);
  static const std::uint64_t key = [] {
    plan_file made;
    const auto store = made.store();
    (void)order_by(&store);
    return mdstream::load<std::uint64_t>(made.bytes.data() + 8);
  }();
  plan_file kept;
  const auto store = kept.store();
  for (const bool sealed : {false, true}) {
    const auto bytes = mdstream::as_bytes(input);
    kept.bytes.assign(bytes.begin(), bytes.end());
    if (sealed) seal_plan(kept.bytes, key);
    const std::vector<std::int64_t> order = order_by(&store);
    for (const std::int64_t id : order) require(id >= 0 && id < 320);
    require(sealed || order == right);
  }
  // What was kept last is whole, whether it was taken over or computed again.
  const std::vector<std::byte> whole = kept.bytes;
  (void)order_by(&store);
  require(kept.bytes == whole);
}

void read_facts(std::string_view input) {
  static const scratch_file file(detail::facts_path("", 7).substr(1));
  (void)file.write(input);
  const detail::shard_facts facts(file.directory(), 7, {.tag = 5, .began = 100});
  const detail::shard_stamp files{.data = {.bytes = 10, .number = 3, .written = 90, .changed = 90}};
  for (const std::uint32_t shard : {0U, 1U, ~0U}) {
    for (const bool can_check : {false, true}) {
      (void)facts.standing_of(shard, files, can_check, 50);
      if (shard > 1) continue;  // the file would be of 64 GiB
      facts.record(shard, files, can_check, detail::flushed);
      require(facts.find(shard, files, can_check).has_value());
      require(facts.standing_of(shard, files, can_check, 50) == detail::standing::trusted);
      require(!facts.wants_flush(shard, files, can_check, 50));
    }
  }
}

void read_sealed(std::string_view input) {
  static const scratch_file file("shard");
  for (const bool sealed : {false, true}) {
    std::string bytes(input);
    if (sealed) {
      const auto seal = detail::seal_of(input.size(), detail::crc32c(mdstream::as_bytes(input)));
      bytes += mdstream::as_text(seal);
    }
    const auto open = file.write(bytes);
    const auto size = detail::sealed_bytes(open.get(), bytes.size(), file.path());
    require(!size || *size + detail::seal_bytes == bytes.size());
    const bool fits = detail::fits_seal(open.get(), file.path());
    require(fits ? size.has_value() : !sealed);
    allow_refusal([&] {
      const auto mapped = detail::map_sealed(file.path());
      require(!sealed || mdstream::as_text(mapped.bytes()) == input);
    });
  }
}

void read_streams(std::string_view input) {
  static const scratch_file file(".mdstream/streams");
  (void)file.write(input);
  const detail::registered_streams streams(file.directory());
  const std::vector<std::string> before = streams.paths(), more{"a", "b/c"};
  for (const std::string& path : before)
    require(path.empty() || path.front() == '/' || mdstream::key_is_safe(path));
  streams.add(more);
  streams.add(more);
  const std::vector<std::string> after = streams.paths();
  require(std::ranges::includes(after, before) && std::ranges::includes(after, more));
  require(after.size() <= before.size() + more.size());
}

}  // namespace

void cache_file(std::string_view input) {
  const std::string_view kind = take_line(input);
  allow_refusal([&] {
    if (kind == "plan") read_plan(input);
    if (kind == "facts") read_facts(input);
    if (kind == "seal") read_sealed(input);
    if (kind == "streams") read_streams(input);
  });
}

void journal(std::string_view input) {
  static const scratch_file file("journal");
  (void)file.write(input);
  allow_refusal([&] {
    detail::cache_journal read(file.path());
    if (!read.read()) return;
    require(read.records_from(0).size() == read.head.records);
    require(read.records_from(read.head.records / 2).size() <= read.head.records);
    require(read.records_from(~std::uint64_t{0}).empty());
  });
}

void member(std::string_view input) {
  static const scratch_file file("1-of_another");
  const auto open = file.write(input);
  allow_refusal([&] {
    // Locked as the file of a live process is.
    require(detail::try_lock_file(open.get(), detail::lock_kind::exclusive, file.path()));
    const detail::cache_members members(file.directory(), {}, {}, {.boot = 1, .local_disk = true});
    require(members.streams_of_others().size() * 8 <= input.size());
    require(members.uses_of_others().size() * 8 <= input.size());
    require(members.survey([](std::string_view) {}).alive <= 1);
  });
}

void origin(std::string_view input) {
  const auto read = detail::parse_origin(input);
  if (!read) return;
  const std::string text = detail::text_of_origin(*read);
  const auto again = detail::parse_origin(text);
  require(again && detail::text_of_origin(*again) == text);
}

}  // namespace fuzz
