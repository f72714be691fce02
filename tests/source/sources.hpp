#pragma once

// Sources in a store, and their rows read without one.

#include <mdstream/async/runtime.hpp>
#include <mdstream/codec/detail/gz_stream.hpp>
#include <mdstream/codec/detail/zstd_stream.hpp>
#include <mdstream/codec/gz.hpp>
#include <mdstream/codec/zstd.hpp>
#include <mdstream/collate/none.hpp>
#include <mdstream/policies.hpp>
#include <mdstream/raw/detail/guess_format.hpp>
#include <mdstream/raw/formats.hpp>
#include <mdstream/source/build_index.hpp>
#include <mdstream/source/first_rows.hpp>
#include <mdstream/source/formats.hpp>
#include <mdstream/source/list_source.hpp>
#include <mdstream/source/raw_rows.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/opened_store.hpp>

#include <fstream>
#include <string>
#include <vector>

#include "raw/random_sources.hpp"
#include "raw/raw_source.hpp"
#include "store/scratch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace source_test {

namespace mds = mdstream;
namespace raw = mdstream::raw;
using raw_test::source;
using scratch_directory::scratch;

inline const mds::detail::stream_decoders decoders{mds::detail::gz_stream(),
                                                   mds::detail::zstd_stream()};

inline std::string packed(const std::string& bytes, const std::string& how) {
  if (how.empty()) return bytes;
  const auto out = how == ".gz" ? mds::codec::gz(1).compress(mds::as_bytes(bytes))
                                : mds::codec::zstd(1).compress(mds::as_bytes(bytes));
  return std::string(mds::as_text(out));
}

/// Of a program that reads files of any plain format, compressed or not.
using plain_policies =
    mds::policies<mds::raw::plain_formats,
                  mds::any_codec<mds::codec::none, mds::codec::gz, mds::codec::zstd>,
                  mds::collate::none>;

/// A directory as a source, and one for its index.
struct indexed_source {
  scratch files, beside;
  mds::runtime threads{2};
  mds::opened_store store{mds::store::local(files.path())};
  mds::opened_store index{mds::store::local(beside.path())};
  mds::any_async_store async = store.on(threads);

  void put(const std::string& key, const std::string& bytes) const {
    store.write(key, mds::as_bytes(bytes));
  }
  void put(const source& objects) const {
    for (const auto& [key, bytes] : objects) put(key, bytes);
  }
  [[nodiscard]] raw::made_index build(const raw::options& about,
                                      const raw::index_settings& settings = {}) const {
    return raw::build_index(async, decoders, raw_test::format_of(about),
                            raw::list_source(async, about.files), index, settings);
  }
  /// Rows of an index, from the last to the first.
  [[nodiscard]] std::vector<std::string> rows(const raw::detail::row_index& of) const {
    mds::detail::raw_rows reader(raw_test::format_of(of.options), of, async, decoders, 1);
    std::vector<std::string> out(reader.size());
    for (std::uint64_t i = reader.size(); i-- > 0;)
      out[i] = std::string(mds::as_text(reader.at(i).bytes));
    return out;
  }
  [[nodiscard]] std::vector<std::string> first_rows(const raw::options& about,
                                                    std::size_t most = 1 << 20) const {
    std::vector<std::string> out;
    raw::for_each_first_row(async, decoders, raw_test::format_of(about),
                            raw::list_source(async, about.files),
                            [&](const mds::sample_layout&, mds::bytes_view sample) {
                              out.emplace_back(mds::as_text(sample));
                              return out.size() < most;
                            });
    return out;
  }
};

/// The value of the column `n: int`.
inline std::int64_t number_in(const mds::detail::raw_rows& reader, mds::bytes_view row) {
  const mds::sample_layout& layout = reader.layout();
  return mds::load<std::int64_t>(layout.locate(row, layout.at("n")).data());
}

/// Cuts, without what differs from place to place: tags.
inline std::vector<std::vector<raw::cut>> cuts_of(const raw::detail::row_index& index) {
  std::vector<std::vector<raw::cut>> out;
  for (const raw::detail::indexed_object& each : index.objects) out.push_back(each.cuts);
  return out;
}

}  // namespace source_test
