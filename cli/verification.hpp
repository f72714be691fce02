#pragma once

/// Whether a dataset is whole.

#include <mdstream/format/row_values.hpp>

#include "command.hpp"
#include "dataset_files.hpp"
#include "progress_bar.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

namespace cli {

struct verification_rules {
  bool all = false;      ///< every faulty sample and uncheckable shard is listed
  bool partial = false;  ///< shards may be missing as a whole
  std::function<void(std::size_t)> on_fault{};  ///< called once with each shard that has one
};

/// What a check without faults says: what has no hash may hold any bytes.
inline std::string verdict(std::size_t uncheckable) {
  if (uncheckable == 0) return "all is well";
  return "no faults; uncheckable: " + std::to_string(uncheckable) +
         (uncheckable == 1 ? " shard, of whose contents" : " shards, of whose contents") +
         " the index records no hash";
}

class verification {
 public:
  verification(const dataset_files& dataset, verification_rules rules)
      : dataset_(dataset), rules_(std::move(rules)) {}

  /// Number of faults; each is a line on stdout.
  std::size_t run() {
    const mds::dataset_index& index = dataset_.index();
    std::atomic<std::size_t> done = 0;
    const progress_bar bar([&](double) {
      return std::to_string(done) + " of " + std::to_string(index.shards()) + " shards";
    });
    for (std::size_t shard = 0; shard < index.shards(); ++shard, ++done) {
      if (rules_.partial && !is_there(shard)) continue;
      ++checked_;
      lacks_hash_ = false;
      const std::size_t before = faults_;
      attempt(shard, [&] { check_columns(shard); });
      attempt(shard, [&] { check_files(shard); });
      attempt(shard, [&] { check_samples(shard); });
      if (lacks_hash_) {
        ++uncheckable_;
        if (rules_.all)
          std::printf("shard %zu: the index records no hash of its contents\n", shard);
      }
      if (faults_ > before && rules_.on_fault) rules_.on_fault(shard);
    }
    return faults_;
  }

  /// Shards that `run` found there.
  [[nodiscard]] std::size_t checked() const { return checked_; }
  /// Those of them with a file whose bytes nothing can check: the index records no hash of it.
  [[nodiscard]] std::size_t uncheckable() const { return uncheckable_; }

 private:
  [[nodiscard]] bool is_there(std::size_t shard) const {
    const auto there = [&](mds::file_role role) {
      const auto file = dataset_.index().file(shard, role);
      return file && dataset_.exists(*file);
    };
    return there(mds::file_role::raw_data) || there(mds::file_role::zip_data);
  }

  template <class F>
  void attempt(std::size_t shard, F&& f) {
    try {
      dataset_.located(shard, f);
    } catch (const mds::error& e) {
      ++faults_;
      std::printf("%s\n", one_line(e.what()).c_str());
    }
  }

  void check_files(std::size_t shard) {
    const mds::dataset_index& index = dataset_.index();
    for (const auto role : {mds::file_role::raw_data, mds::file_role::zip_data,
                            mds::file_role::raw_meta, mds::file_role::zip_meta}) {
      const auto file = index.file(shard, role);
      if (!file) continue;
      // Of a compressed shard the raw file is usually not stored, in a cache one of the two.
      const bool raw = role == mds::file_role::raw_data || role == mds::file_role::raw_meta;
      const bool may_be_absent = index.zip(shard) && (raw || rules_.partial);
      attempt(shard, [&] { check_file(*file, may_be_absent); });
    }
  }

  void check_file(const mds::file_info& file, bool may_be_absent) {
    const auto bytes = dataset_.stored(file);
    if (!bytes && may_be_absent) return;
    if (!bytes) {
      throw mds::error(mds::errc::corrupt,
                       {.what = "the file is missing", .url = dataset_.url(file.name)});
    }
    dataset_.require(file, *bytes);
    lacks_hash_ = lacks_hash_ || file.hashes.empty();
  }

  // A loader reads all shards of a dataset by the columns of the first.
  void check_columns(std::size_t shard) const {
    const mds::dataset_index& index = dataset_.index();
    if (index.layout(shard) == index.layout(0)) return;
    throw mds::error(mds::errc::schema_mismatch,
                     "the shard has (" + index.layout(shard).describe() + "), the first one has (" +
                         index.layout(0).describe() + ")");
  }

  void check_samples(std::size_t shard) {
    const mds::shard_config& config = dataset_.index().config(shard);
    const shard_files files = dataset_.read(shard, false);
    const std::size_t before = faults_;
    for (std::uint64_t i = 0; i < dataset_.index().shard_samples(shard); ++i) {
      attempt(shard, [&] {
        dataset_.for_each_sample(shard, files, i, i + 1, [&](std::uint64_t, mds::bytes_view bytes) {
          try {
            for (std::size_t column = 0; column < config.layout.size(); ++column) {
              (void)mds::read_column(config, bytes, column);
            }
          } catch (const mds::error& e) {
            mds::diagnostics where = e.where();
            where.sample = i;
            throw mds::error(e.code(), std::move(where));
          }
        });
      });
      if (!rules_.all && faults_ - before >= most_of_a_shard) {
        throw mds::error(mds::errc::corrupt,
                         "further faults of this shard are not listed: --all does");
      }
    }
  }

  static constexpr std::size_t most_of_a_shard = 10;
  const dataset_files& dataset_;
  verification_rules rules_;
  std::size_t checked_ = 0;
  std::size_t uncheckable_ = 0;
  bool lacks_hash_ = false;  // a file of the shard at hand
  std::size_t faults_ = 0;
};

}  // namespace cli
