// mdstream verify: whether a dataset, or what lies in a cache, is whole.

#include <mdstream/cache/detail/cache_directory.hpp>
#include <mdstream/cache/detail/describe_streams.hpp>
#include <mdstream/cache/detail/registered_streams.hpp>
#include <mdstream/source/raw_rows.hpp>
#include <mdstream/store/detail/sftp/session.hpp>

#include "command.hpp"
#include "dataset_arguments.hpp"
#include "formats.hpp"
#include "progress_bar.hpp"
#include "raw_source.hpp"
#include "verification.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cli {

namespace {

struct verify_arguments {
  dataset_arguments of;
  raw_arguments raw{};
  bool all = false, repair = false;
};

[[noreturn]] void fail(std::size_t faults, const std::string& url) {
  throw mds::error(
      mds::errc::corrupt,
      {.what = std::to_string(faults) + (faults == 1 ? " fault" : " faults"), .url = url});
}

void verify_dataset(const verify_arguments& args) {
  const dataset_files dataset = args.of.open();
  verification check(dataset, {.all = args.all});
  const std::size_t faults = check.run();
  if (faults > 0) fail(faults, dataset.url(""));
  std::printf("%zu shards, %llu samples: %s\n", dataset.index().shards(),
              static_cast<unsigned long long>(dataset.index().samples()),
              verdict(check.uncheckable()).c_str());
}

// Every row is read as a stream would.
void verify_files(const raw_source& source, const raw_arguments& given) {
  const mds::raw::detail::row_index index = index_of(source, given, 0);
  const mds::raw::source_format format = formats::open(index.options);
  mds::detail::raw_rows rows(format, index, source.store(), decoders());
  const std::vector<mds::raw::detail::shard_place> places = index.places();
  std::size_t faults = 0;
  std::atomic<std::size_t> done = 0;
  std::optional<progress_bar> bar(std::in_place, [&](double) {
    return std::to_string(done) + " of " + std::to_string(places.size()) + " shards";
  });
  for (std::size_t shard = 0; shard < places.size(); ++shard, ++done) {
    try {
      (void)rows.shard(shard);
    } catch (const mds::error& e) {
      ++faults;
      std::printf("shard %zu: %s\n", shard, one_line(e.what()).c_str());
    }
  }
  bar.reset();
  if (faults > 0) fail(faults, source.store().url(""));
  // Nothing records hashes of foreign files.
  std::printf("%zu objects, %zu shards, %llu samples: no faults; all rows can be read\n",
              index.objects.size(), places.size(),
              static_cast<unsigned long long>(index.samples()));
}

/// The shards that lie in one directory of a cache.
class cached_dataset {
 public:
  cached_dataset(std::string root, std::string directory, const verify_arguments& args)
      : root_(std::move(root)), directory_(std::move(directory)), args_(args) {}

  /// Number of faults; each is a line on stdout. With `--repair`, what is damaged is deleted, under
  /// the cache's locks, so that it will be fetched again.
  std::size_t verify() {
    const std::optional<dataset_files> dataset = open();
    if (!dataset) return faults_;
    const mds::detail::shard_catalog catalog(
        root_, {mds::detail::stream_of_index(dataset->index(), directory_, directory_, "",
                                             mds::detail::hash_set::of<mds::full_hash>())});
    std::optional<mds::detail::cache_directory> cache;
    if (args_.repair) cache.emplace(root_, 0, catalog, mds::detail::cache_directory::hooks{});
    verification check(*dataset,
                       {.all = args_.all, .partial = true, .on_fault = [&](std::size_t shard) {
                          if (cache) repair(*cache, shard);
                        }});
    faults_ += check.run();
    uncheckable_ += check.uncheckable();
    std::printf("%s: %zu of %zu shards are there\n", directory_.c_str(), check.checked(),
                dataset->index().shards());
    return faults_;
  }

  [[nodiscard]] std::size_t repaired() const { return repaired_; }
  [[nodiscard]] std::size_t uncheckable() const { return uncheckable_; }

 private:
  [[nodiscard]] std::optional<dataset_files> open() {
    if (!std::filesystem::exists(directory_ + "/index.json")) return std::nullopt;
    try {
      return dataset_files(directory_, "", args_.of.allow_unsafe_types, args_.of.patience);
    } catch (const mds::error& e) {
      if (e.code() != mds::errc::corrupt) throw;
      ++faults_;
      std::printf("%s\n", one_line(e.what()).c_str());
      if (args_.repair && std::filesystem::remove(directory_ + "/index.json")) ++repaired_;
      return std::nullopt;
    }
  }

  void repair(mds::detail::cache_directory& cache, std::size_t shard) {
    if (cache.drop(static_cast<std::uint32_t>(shard))) {
      ++repaired_;
    } else {
      std::printf("%s: shard %zu is in use and was left\n", directory_.c_str(), shard);
    }
  }

  std::string root_, directory_;
  const verify_arguments& args_;
  std::size_t faults_ = 0, repaired_ = 0, uncheckable_ = 0;
};

void verify_cache(const std::string& root, const verify_arguments& args) {
  const mds::detail::registered_streams streams(root);
  std::size_t faults = 0, repaired = 0, uncheckable = 0;
  for (const std::string& path : streams.paths()) {
    cached_dataset dataset(root, streams.directory_of(path), args);
    faults += dataset.verify();
    repaired += dataset.repaired();
    uncheckable += dataset.uncheckable();
  }
  if (repaired > 0) {
    std::printf("%zu deleted: what a loader needs of it, it will fetch again\n", repaired);
  } else if (faults > 0) {
    fail(faults, root);
  } else {
    std::printf("%s\n", verdict(uncheckable).c_str());
  }
}

void verify(const verify_arguments& args) {
  const std::string root = mds::detail::normal_path(args.of.url);
  const bool is_cache = args.of.split.empty() && mds::url_scheme(args.of.url).empty() &&
                        std::filesystem::exists(root + "/.mdstream/streams");
  if (is_cache) return verify_cache(root, args);
  if (args.repair) throw usage_error("--repair is for the cache directory of a loader");
  if (const auto files = files_at(args.of, args.raw)) return verify_files(*files, args.raw);
  verify_dataset(args);
}

}  // namespace

void add_verify(CLI::App& program) {
  auto args = std::make_shared<verify_arguments>();
  CLI::App* const command = add_dataset_command(
      program, "verify",
      "Check every file and sample of a dataset, or of what a cache holds; list what is wrong",
      args->of);
  command->add_flag("--all", args->all,
                    "List every faulty sample, not only the first ten of a shard");
  command->add_flag("--repair", args->repair,
                    "Delete what is damaged in a cache, so that it is fetched again");
  args->raw.add_to(*command, "Files that are no dataset");
  command->callback([args] { verify(*args); });
}

}  // namespace cli
