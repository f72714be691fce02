#pragma once

/// The quickstart's datasets: two corpora in a bucket, or in a directory that plays one, and the
/// held-out rows beside them.

#include <mdstream/codec/zstd.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/store/azure.hpp>
#include <mdstream/store/gs.hpp>
#include <mdstream/store/s3.hpp>

#include "corpus.hpp"
#include "places.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quickstart {

namespace mds = mdstream;
using namespace mds::literals;

using policies = mds::policies<
    mds::schema<mds::column<"text", mds::ndarray<std::uint8_t, row_bytes>>>,
    mds::any_store<mds::store::local, mds::store::s3, mds::store::azure, mds::store::gs>,
    mds::codec::zstd, mds::shuffle::py1e, mds::collate::dense, mds::stage::host>;

/// Writes rows as one dataset, in place of one that is there; returns the number of rows.
inline std::size_t write_dataset(const std::string& where, const std::vector<std::uint8_t>& rows) {
  mds::writer<policies> out({.out = where,
                             .compression = "zstd:3",
                             .size_limit = 256_KiB,
                             .existing = mds::existing_dataset::replace});
  const std::size_t count = rows.size() / row_bytes;
  for (std::size_t i = 0; i < count; ++i) out.write(corpus::row(rows, i));
  out.finish();
  return count;
}

/// Rows of the mix that no training row shares a file with, the same on every rank.
[[nodiscard]] inline std::vector<std::uint8_t> read_held_out(const places& where,
                                                             std::size_t rows) {
  std::vector<std::uint8_t> mix;
  const auto add = [&](const std::string& name, double share) {
    const mds::dataset<policies> dataset({.remote = where.data() + "/held-out/" + name,
                                          .local = where.held_out_cache() + '/' + name});
    const auto wanted = static_cast<std::size_t>(share * static_cast<double>(rows));
    for (std::size_t i = 0; i < wanted; ++i) {
      const auto sample = dataset[i * dataset.size() / wanted];
      const auto text = sample.template get<"text">();
      for (std::size_t byte = 0; byte < text.size(); ++byte) mix.push_back(text[byte]);
    }
  };
  add("prose", prose_share);
  add("code", code_share);
  return mix;
}

}  // namespace quickstart
