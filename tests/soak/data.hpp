#pragma once

// What the soak's processes stream: two datasets whose every byte follows from a sample's id.

#include <mdstream/codec/zstd.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/store/gs.hpp>
#include <mdstream/store/s3.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace soak {

namespace mds = mdstream;

using policies =
    mds::policies<mds::schema<mds::column<"id", mds::int_>, mds::column<"text", mds::str>>,
                  mds::any_store<mds::store::local, mds::store::s3, mds::store::gs>,
                  mds::codec::zstd>;
using loader = mds::loader<policies>;

constexpr int ranks = 8;
constexpr std::int64_t samples_in_bucket = 1'728, samples_in_gs = 1'152;
constexpr std::uint64_t global_batch = 96;
constexpr std::uint64_t batches_in_epoch =
    static_cast<std::uint64_t>(samples_in_bucket + samples_in_gs) / global_batch;
static_assert(batches_in_epoch * global_batch == samples_in_bucket + samples_in_gs);

/// 500 to 3,500 letters.
inline std::string text_of(std::int64_t id) {
  std::string text(static_cast<std::size_t>(500 + id * 2'741 % 3'001), ' ');
  std::uint64_t state = static_cast<std::uint64_t>(id) * 0x9e3779b97f4a7c15U + 1;
  for (char& letter : text) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    letter = static_cast<char>('a' + (state >> 60));
  }
  return text;
}

inline void write(const std::string& url, std::int64_t first, std::int64_t count,
                  const std::string& compression) {
  mds::writer<policies> out(
      {.out = url, .compression = compression, .size_limit = mds::byte_size(7'000)});
  for (std::int64_t id = first; id < first + count; ++id) out.write(id, text_of(id));
  out.finish();
}

/// What every process of a run has to say alike.
inline loader::options options_of(const std::string& bucket, const std::string& gs) {
  return {.streams = {{.remote = bucket}, {.remote = gs}},
          .global_batch_size = global_batch,
          .seed = 11,
          .shuffle_block_size = 450,
          .num_canonical_nodes = 1,
          .predownload = 90};
}

/// A number for the samples of a batch, every byte of which is checked here; the sum over ranks
/// does not depend on who has which.
inline std::uint64_t digest_of(const loader::batch_type& batch) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::int64_t id = batch.get<"id">()[i];
    const std::string_view text = batch.get<"text">()[i];
    if (id != batch.ids()[i] || text != text_of(id))
      throw std::runtime_error("sample " + std::to_string(batch.ids()[i]) + " is wrong");
    sum += mds::fnv1a().add(static_cast<std::uint64_t>(id)).add(text).value();
  }
  return sum;
}

}  // namespace soak
