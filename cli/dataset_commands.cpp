// mdstream cat and inspect: what a dataset, or foreign files, hold, and what they are.

#include <mdstream/format/row_values.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/source/first_rows.hpp>
#include <mdstream/source/raw_rows.hpp>

#include "command.hpp"
#include "dataset_arguments.hpp"
#include "dataset_files.hpp"
#include "formats.hpp"
#include "raw_source.hpp"
#include "values.hpp"

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

struct output_arguments {
  dataset_arguments of;
  raw_arguments raw{};
  bool typed = false, as_json = false;
  std::uint64_t from = 0;
  std::optional<std::uint64_t> limit;
};

json sample_json(const output_arguments& args, const mds::shard_config& config,
                 mds::bytes_view sample) {
  json out = json::object();
  for (std::size_t column = 0; column < config.layout.size(); ++column) {
    const mds::column_layout& about = config.layout[column];
    const mds::column_value value = mds::read_column(config, sample, column);
    out[about.name] = args.typed ? typed_value(about.type, value) : plain_value(about.type, value);
  }
  return out;
}

// Cuts are small, so that rows come at once.
mds::raw::source_format format_of_first_rows(const output_arguments& args,
                                             const raw_source& source) {
  mds::raw::options about = source.about();
  if (args.raw.shard_bytes == 0) about.shard_bytes = mds::byte_size(std::uint64_t{1} << 16);
  return formats::open(about);
}

// The rows of files that are no dataset: by their index where there is one and no option says how
// they are read, else from the first on.
void cat_files(const output_arguments& args, const raw_source& source) {
  std::uint64_t number = args.from;
  std::uint64_t left = args.limit.value_or(~std::uint64_t{0});
  const auto show = [&](const mds::sample_layout& layout, mds::bytes_view sample) {
    json out = json::object();
    for (std::size_t i = 0; i < layout.size(); ++i) {
      const mds::column_value value = mds::read_column(layout, sample, i);
      out[layout[i].name] =
          args.typed ? typed_value(layout[i].type, value) : plain_value(layout[i].type, value);
    }
    print(args.typed ? json{{"row", number}, {"sample", std::move(out)}} : out);
    ++number;
  };
  if (left == 0) return;
  if (auto index = args.raw.given() || source.is_one_file() ? std::nullopt : find_index(source)) {
    const auto format = formats::open(index->options);
    mds::detail::raw_rows rows(format, *std::move(index), source.store(), decoders());
    for (; number < rows.size() && left > 0; --left) show(rows.layout(), rows.at(number).bytes);
    return;
  }
  std::uint64_t skip = args.from;
  mds::raw::for_each_first_row(source.store(), decoders(), format_of_first_rows(args, source),
                               source.listing(),
                               [&](const mds::sample_layout& layout, mds::bytes_view sample) {
                                 if (skip > 0) return --skip, true;
                                 show(layout, sample);
                                 return --left > 0;
                               });
}

void cat(const output_arguments& args) {
  if (const auto files = files_at(args.of, args.raw)) return cat_files(args, *files);
  const dataset_files dataset = args.of.open();
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
      if (!args.of.split.empty()) line["split"] = args.of.split;
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

// What files are: by their index, or else by their listing and the first row.
json files_description(const output_arguments& args, const raw_source& source) {
  auto index = args.raw.given() || source.is_one_file() ? std::nullopt : find_index(source);
  std::uint64_t objects = 0, bytes = 0;
  std::vector<mds::raw::column> columns;
  if (index) {
    objects = index->objects.size();
    for (const auto& each : index->objects) bytes += each.file.bytes;
    columns = index->options.columns;
  } else {
    const auto format = format_of_first_rows(args, source);
    const mds::raw::detail::index_builder chosen(format, source.listing());
    for (const auto& each : chosen.objects()) {
      ++objects;
      bytes += each.file.bytes;
    }
    mds::raw::for_each_first_row(source.store(), decoders(), format, source.listing(),
                                 [&](const mds::sample_layout& layout, mds::bytes_view) {
                                   for (const auto& each : layout.columns())
                                     columns.push_back({each.name, each.encoding_text, {}});
                                   return false;
                                 });
  }
  return {{"samples", index ? json(index->samples()) : json(nullptr)},
          {"shards", index ? json(index->shards()) : json(nullptr)},
          {"objects", objects},
          {"bytes", bytes},
          {"format", index ? index->options.format : source.about().format},
          {"columns", columns_json(columns)}};
}

void inspect_files(const output_arguments& args, const raw_source& source) {
  const json what = files_description(args, source);
  if (args.as_json) return print(what);
  for (const char* key : {"samples", "shards", "objects", "bytes"}) {
    const std::string text = what[key].is_null() ? "not known: mdstream index" : what[key].dump();
    std::printf("%-14s %s\n", key, text.c_str());
  }
  std::printf("%-14s %s\n", "format", what["format"].get<std::string>().c_str());
  for (const json& column : what["columns"]) {
    std::printf("column         %s: %s\n", column["name"].get<std::string>().c_str(),
                column["encoding"].get<std::string>().c_str());
  }
}

void inspect(const output_arguments& args) {
  if (const auto files = files_at(args.of, args.raw)) return inspect_files(args, *files);
  const json what = description(args.of.open());
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

}  // namespace

void add_cat(CLI::App& program) {
  auto args = std::make_shared<output_arguments>();
  CLI::App* const command = add_dataset_command(
      program, "cat", "Print samples in index order, a JSON line each", args->of);
  args->raw.add_to(*command, "Files that are no dataset");
  command->add_flag("--typed", args->typed, "Values with their types, so that nothing is lost");
  command->add_option("--from", args->from, "First sample to print")->capture_default_str();
  command->add_option("--limit", args->limit, "Samples to print [all]");
  command->callback([args] { cat(*args); });
}

void add_inspect(CLI::App& program) {
  auto args = std::make_shared<output_arguments>();
  CLI::App* const command = add_dataset_command(
      program, "inspect", "Print what a dataset is: samples, bytes, columns", args->of);
  args->raw.add_to(*command, "Files that are no dataset");
  command->add_flag("--json", args->as_json, "As a JSON object");
  command->callback([args] { inspect(*args); });
}

}  // namespace cli
