// mdstream cat, inspect, verify: what a dataset holds, what it is, and whether it is whole.

#include <mdstream/format/row_values.hpp>

#include "command.hpp"
#include "dataset_files.hpp"
#include "values.hpp"

#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cli {

namespace {

struct dataset_arguments {
  std::string url, split;
  bool typed = false, allow_unsafe_types = false, as_json = false, all = false;
  std::uint64_t from = 0;
  std::optional<std::uint64_t> limit;

  [[nodiscard]] dataset_files open() const { return {url, split, allow_unsafe_types}; }
};

CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& about,
                      dataset_arguments& args) {
  CLI::App* const command = program.add_subcommand(name, about);
  command->add_option("url", args.url, "Directory of the dataset: a local path or a remote URL")
      ->required()
      ->type_name("URL");
  command->add_option("--split", args.split, "Subdirectory of it, such as train");
  command->add_flag("--allow-unsafe-types", args.allow_unsafe_types,
                    "Read datasets with pkl columns; they are never executed");
  return command;
}

json sample_json(const dataset_arguments& args, const mds::shard_config& config,
                 mds::bytes_view sample) {
  json out = json::object();
  for (std::size_t column = 0; column < config.layout.size(); ++column) {
    const mds::column_layout& about = config.layout[column];
    const mds::column_value value = mds::read_column(config, sample, column);
    out[about.name] = args.typed ? typed_value(about.type, value) : plain_value(about.type, value);
  }
  return out;
}

void cat(const dataset_arguments& args) {
  const dataset_files dataset = args.open();
  const mds::dataset_index& index = dataset.index();
  std::uint64_t skip = args.from, left = args.limit.value_or(index.samples());
  for (std::size_t shard = 0; shard < index.shards() && left > 0; ++shard) {
    const std::uint64_t samples = index.shard_samples(shard);
    if (skip >= samples) {
      skip -= samples;
      continue;
    }
    const std::uint64_t last = std::min(samples, skip + left);
    const shard_files files = dataset.read(shard);
    dataset.for_each_sample(shard, files, skip, last, [&](std::uint64_t i, mds::bytes_view bytes) {
      json sample = sample_json(args, index.config(shard), bytes);
      if (!args.typed) return print(sample);
      json line = {{"shard", shard}, {"index", i}};
      if (!args.split.empty()) line["split"] = args.split;
      line["sample"] = std::move(sample);
      print(line);
    });
    left -= last - skip;
    skip = 0;
  }
}

json description(const dataset_files& dataset) {
  const mds::dataset_index& index = dataset.index();
  std::uint64_t raw = 0, zip = 0;
  std::map<std::string, std::size_t> formats, compressions;
  for (std::size_t shard = 0; shard < index.shards(); ++shard) {
    raw += index.raw(shard).bytes;
    if (const auto file = index.zip(shard)) zip += file->bytes;
    ++formats[std::string(to_string(index.format(shard)))];
    ++compressions[std::string(index.compression(shard))];
  }
  const auto names = [](const std::map<std::string, std::size_t>& counts) {
    json out = json::array();
    for (const auto& [name, count] : counts) out.push_back(name.empty() ? "none" : name);
    return out;
  };
  json columns = json::array(), hashes = json::array();
  if (index.shards() > 0) {
    for (const auto& column : index.layout(0).columns()) {
      columns.push_back({{"name", column.name},
                         {"encoding", column.encoding_text},
                         {"bytes", column.size ? json(*column.size) : json(nullptr)}});
    }
    for (const auto& hash : index.config(0).hashes) hashes.push_back(hash);
  }
  return {{"shards", index.shards()},
          {"samples", index.samples()},
          {"raw_bytes", raw},
          {"zip_bytes", zip},
          {"formats", names(formats)},
          {"compressions", names(compressions)},
          {"hashes", std::move(hashes)},
          {"columns", std::move(columns)}};
}

std::string joined(const json& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + name.get<std::string>();
  return out.empty() ? "none" : out;
}

void inspect(const dataset_arguments& args) {
  const json what = description(args.open());
  if (args.as_json) return print(what);
  for (const char* key : {"samples", "shards", "raw_bytes", "zip_bytes"}) {
    std::printf("%-14s %llu\n", key,
                static_cast<unsigned long long>(what[key].get<std::uint64_t>()));
  }
  for (const char* key : {"formats", "compressions", "hashes"}) {
    std::printf("%-14s %s\n", key, joined(what[key]).c_str());
  }
  for (const json& column : what["columns"]) {
    std::printf(
        "column         %s: %s, %s\n", column["name"].get<std::string>().c_str(),
        column["encoding"].get<std::string>().c_str(),
        column["bytes"].is_null() ? "variable size" : (column["bytes"].dump() + " bytes").c_str());
  }
}

class verification {
 public:
  verification(const dataset_files& dataset, bool all) : dataset_(dataset), all_(all) {}

  /// Number of faults; each is a line on stdout.
  std::size_t run() {
    const mds::dataset_index& index = dataset_.index();
    for (std::size_t shard = 0; shard < index.shards(); ++shard) {
      attempt(shard, [&] { check_files(shard); });
      attempt(shard, [&] { check_samples(shard); });
      if (isatty(STDERR_FILENO) == 1) {
        std::fprintf(stderr, "\rshard %zu of %zu%s", shard + 1, index.shards(),
                     shard + 1 == index.shards() ? "\n" : "");
      }
    }
    return faults_;
  }

 private:
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
      // Of a compressed shard the raw file is usually not stored.
      const bool may_be_absent = index.zip(shard) && (role == mds::file_role::raw_data ||
                                                      role == mds::file_role::raw_meta);
      attempt(shard, [&] { check_file(*file, may_be_absent); });
    }
  }

  void check_file(const mds::file_info& file, bool may_be_absent) {
    const auto fail = [&](std::string what) {
      throw mds::error(mds::errc::corrupt,
                       {.what = std::move(what), .url = dataset_.url(file.name)});
    };
    const auto bytes = dataset_.stored(file);
    if (!bytes && may_be_absent) return;
    if (!bytes) fail("the file is missing");
    if (bytes->size() != file.bytes) {
      fail("the file has " + std::to_string(bytes->size()) + " bytes, the index says " +
           std::to_string(file.bytes));
    }
    for (const mds::file_hash& expected : file.hashes) {
      auto hash = mds::full_hash::open(expected.name);
      hash.update(*bytes);
      if (const std::string got = hash.hex(); got != expected.hex) {
        fail(expected.name + " is " + got + ", the index says " + expected.hex);
      }
    }
  }

  void check_samples(std::size_t shard) {
    const mds::shard_config& config = dataset_.index().config(shard);
    const shard_files files = dataset_.read(shard);
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
      if (!all_ && faults_ - before >= most_of_a_shard) {
        throw mds::error(mds::errc::corrupt,
                         "further faults of this shard are not listed: --all does");
      }
    }
  }

  static constexpr std::size_t most_of_a_shard = 10;
  const dataset_files& dataset_;
  bool all_;
  std::size_t faults_ = 0;
};

void verify(const dataset_arguments& args) {
  const dataset_files dataset = args.open();
  const std::size_t faults = verification(dataset, args.all).run();
  if (faults > 0) {
    throw mds::error(mds::errc::corrupt,
                     {.what = std::to_string(faults) + (faults == 1 ? " fault" : " faults"),
                      .url = dataset.url("")});
  }
  std::printf("%zu shards, %llu samples: all is well\n", dataset.index().shards(),
              static_cast<unsigned long long>(dataset.index().samples()));
}

}  // namespace

void add_cat(CLI::App& program) {
  auto args = std::make_shared<dataset_arguments>();
  CLI::App* const command =
      add_command(program, "cat", "Print samples in index order, a JSON line each", *args);
  command->add_flag("--typed", args->typed, "Values with their types, so that nothing is lost");
  command->add_option("--from", args->from, "First sample to print")->capture_default_str();
  command->add_option("--limit", args->limit, "Samples to print [all]");
  command->callback([args] { cat(*args); });
}

void add_inspect(CLI::App& program) {
  auto args = std::make_shared<dataset_arguments>();
  CLI::App* const command =
      add_command(program, "inspect", "Print what a dataset is: samples, bytes, columns", *args);
  command->add_flag("--json", args->as_json, "As a JSON object");
  command->callback([args] { inspect(*args); });
}

void add_verify(CLI::App& program) {
  auto args = std::make_shared<dataset_arguments>();
  CLI::App* const command =
      add_command(program, "verify", "Check every file and sample; list what is wrong", *args);
  command->add_flag("--all", args->all,
                    "List every faulty sample, not only the first ten of a shard");
  command->callback([args] { verify(*args); });
}

}  // namespace cli
