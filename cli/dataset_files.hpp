#pragma once

/// The files of a dataset at a URL, shard by shard: what `cat`, `inspect` and `verify` look at.
/// Nothing is cached on disk; one shard at a time is in memory.

#include <mdstream/cache/detail/shard_seal.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/format/detail/row_shard.hpp>
#include <mdstream/full.hpp>
#include <mdstream/store/retrying.hpp>

#include "patience.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cli {

namespace mds = mdstream;

/// A shard in memory. JSONL and XSV shards have a meta file.
struct shard_files {
  std::vector<std::byte> data{}, meta{};
};

class dataset_files {
 public:
  /// Throws mds::error where there is no index or it cannot be believed.
  dataset_files(const std::string& url, const std::string& split, bool allow_unsafe_types,
                const store_patience& patience)
      : threads_(std::make_unique<mds::runtime>(1)),
        store_(
            *threads_,
            mds::full_store::open(split.empty() ? url : url + "/" + split, *threads_).on(*threads_),
            patience.requests(), patience.budget()) {
    const std::vector<std::byte> text = read_index();
    index_ = mds::dataset_index::parse(
        mds::as_text(text),
        {.allow_unsafe_types = allow_unsafe_types, .where = {.url = store_.url("index.json")}});
  }

  [[nodiscard]] const mds::dataset_index& index() const { return index_; }

  /// Reads one shard, decompressing what is stored compressed alone, and holds it against the
  /// hashes that the index has, unless that was done before.
  [[nodiscard]] shard_files read(std::size_t shard, bool checks = true) const {
    shard_files files{.data =
                          read(shard, mds::file_role::raw_data, mds::file_role::zip_data, checks)};
    if (index_.file(shard, mds::file_role::raw_meta)) {
      files.meta = read(shard, mds::file_role::raw_meta, mds::file_role::zip_meta, checks);
    }
    return files;
  }

  /// Calls `visit(sample, bytes)` for the samples [first, last) of a shard that was read; an error
  /// names the shard and its file.
  template <class Visit>
  void for_each_sample(std::size_t shard, const shard_files& files, std::uint64_t first,
                       std::uint64_t last, Visit&& visit) const {
    located(shard, [&] {
      const std::uint64_t samples = index_.shard_samples(shard);
      const auto all = [&](const auto& view) {
        for (std::uint64_t i = first; i < last; ++i) visit(i, view[i]);
      };
      if (index_.format(shard) == mds::shard_format::mds)
        all(mds::mds_shard_view(files.data, samples));
      else
        all(mds::detail::row_shard_view(files.data, files.meta, samples));
    });
  }

  /// Runs `f`; an error that leaves it names the shard and its file.
  template <class F>
  void located(std::size_t shard, F&& f) const {
    try {
      f();
    } catch (const mds::error& e) {
      mds::diagnostics where = e.where();
      where.shard = shard;
      if (where.url.empty()) where.url = store_.url(index_.raw(shard).name);
      throw mds::error(e.code(), std::move(where));
    }
  }

  [[nodiscard]] bool exists(const mds::file_info& file) const {
    return mds::exists(store_, file.name);
  }

  /// The bytes of a file as they are stored, or nothing where there is no such object.
  [[nodiscard]] std::optional<std::vector<std::byte>> stored(const mds::file_info& file) const {
    if (!exists(file)) return std::nullopt;
    return mds::read_all(store_, file.name);
  }

  /// Throws errc::corrupt where bytes have another size or another hash than the index says.
  void require(const mds::file_info& file, mds::bytes_view bytes) const {
    const auto fail = [&](std::string what) {
      throw mds::error(mds::errc::corrupt, {.what = std::move(what), .url = store_.url(file.name)});
    };
    if (is_made(file)) {
      if (!fits_seal(bytes)) fail("its bytes are not those that were sealed");
      return;
    }
    if (bytes.size() != file.bytes) {
      fail("the file has " + std::to_string(bytes.size()) + " bytes, the index says " +
           std::to_string(file.bytes));
    }
    for (const mds::file_hash& expected : file.hashes) {
      auto hash = mds::full_hash::open(expected.name);
      hash.update(bytes);
      if (const std::string got = hash.hex(); got != expected.hex) {
        fail(expected.name + " is " + got + ", the index says " + expected.hex);
      }
    }
  }

  /// Decompresses a stored file of a shard to the size that the index tells.
  [[nodiscard]] std::vector<std::byte> decompress(std::size_t shard, const mds::file_info& raw,
                                                  const std::vector<std::byte>& zip) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(raw.bytes));
    mds::diagnostics where;
    const auto codec = mds::full_codec::open(index_.compression(shard));
    if (const auto failure = codec.decompress(zip, bytes, where)) throw mds::error(failure, where);
    return bytes;
  }

  [[nodiscard]] std::string url(const std::string& name) const { return store_.url(name); }

 private:
  // Of a cache: a shard that was made of foreign files. Its size in the index is an estimate.
  [[nodiscard]] static bool is_made(const mds::file_info& file) {
    return file.hashes.size() == 1 && file.hash(mds::detail::source_digest) != nullptr;
  }
  [[nodiscard]] static bool fits_seal(mds::bytes_view file) {
    constexpr std::size_t end = mds::detail::seal_bytes;
    if (file.size() < end) return false;
    const mds::bytes_view shard = file.first(file.size() - end);
    return std::ranges::equal(file.last(end),
                              mds::detail::seal_of(shard.size(), mds::detail::crc32c(shard)));
  }

  [[nodiscard]] std::vector<std::byte> read_index() const {
    try {
      return mds::read_all(store_, "index.json");
    } catch (const mds::error& e) {
      throw mds::error(e.code(), {.what = "there is no dataset: its index cannot be read",
                                  .url = store_.url("index.json"),
                                  .cause = e.what()});
    }
  }

  [[nodiscard]] std::vector<std::byte> read(std::size_t shard, mds::file_role raw_role,
                                            mds::file_role zip_role, bool checks) const {
    std::vector<std::byte> bytes;
    located(shard, [&] {
      const mds::file_info raw = *index_.file(shard, raw_role);
      const auto zip = index_.file(shard, zip_role);
      const auto as_raw = zip ? stored(raw) : std::optional(mds::read_all(store_, raw.name));
      if (as_raw) {
        bytes = *as_raw;
      } else {
        const std::vector<std::byte> stored = mds::read_all(store_, zip->name);
        if (checks) require(*zip, stored);
        bytes = decompress(shard, raw, stored);
      }
      if (is_made(raw)) {
        if (checks || bytes.size() < mds::detail::seal_bytes) require(raw, bytes);
        bytes.resize(bytes.size() - mds::detail::seal_bytes);
        return;
      }
      mds::file_info expected = raw;
      if (!checks) expected.hashes.clear();
      require(expected, bytes);
    });
    return bytes;
  }

  std::unique_ptr<mds::runtime> threads_;
  mds::retrying store_;
  mds::dataset_index index_;
};

}  // namespace cli
