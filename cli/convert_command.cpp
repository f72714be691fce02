// mdstream convert: foreign files become a dataset.

#include <mdstream/format/mds_shard.hpp>
#include <mdstream/full.hpp>
#include <mdstream/source/detail/each_shard.hpp>
#include <mdstream/writer/writer.hpp>

#include "command.hpp"
#include "formats.hpp"
#include "patience.hpp"
#include "progress_bar.hpp"
#include "raw_source.hpp"
#include "stop_signals.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace cli {

namespace {

struct convert_arguments {
  std::string from, to, compression, size_limit = "64mb", cuts = "limit";
  std::vector<std::string> hashes{"xxh64"};
  raw_arguments raw{};
  store_patience patience;
  unsigned jobs = 0;
  bool replace = false;
};

void convert_until(const std::stop_token& stop, const convert_arguments& args) {
  const raw_source source(args.from, args.raw.options(), stop);
  mds::raw::detail::row_index index = index_of(source, args.raw, args.jobs, stop);
  const mds::raw::source_format format = formats::open(index.options);
  mds::writer_options options;
  options.out = args.to;
  for (const mds::raw::column& each : index.options.columns)
    options.columns.push_back({each.name, each.encoding});
  options.compression = args.compression;
  options.hashes = args.hashes;
  if (options.hashes == std::vector<std::string>{"none"}) options.hashes.clear();
  const bool keep = args.cuts == "keep";
  options.size_limit = keep ? mds::byte_size() : mds::byte_size(std::string_view(args.size_limit));
  options.existing = args.replace ? mds::existing_dataset::replace : mds::existing_dataset::error;
  options.patience = args.patience.most;
  mds::writer<mds::full_policies> out(std::move(options));
  std::uint64_t bytes = 0;
  for (const auto& object : index.objects)
    for (const auto& cut : object.cuts) bytes += cut.bytes;
  std::atomic<std::uint64_t> done = 0;
  std::optional<progress_bar> bar;
  bar.emplace([&](double seconds) {
    const auto now = static_cast<double>(done);
    return binary_size(now) + " of " + binary_size(static_cast<double>(bytes)) + ", " +
           binary_size(seconds > 0 ? now / seconds : 0) + "/s";
  });
  mds::detail::for_each_shard(source.store(), decoders(), format, std::move(index),
                              [&](const mds::raw::detail::transcoded& made) {
                                const mds::mds_shard_view samples(made.shard, made.samples);
                                for (std::uint64_t i = 0; i < samples.size(); ++i)
                                  out.write_raw(samples[i]);
                                if (keep) out.end_shard();
                              },
                              {.jobs = args.jobs, .plain_bytes = &done, .stop = stop});
  out.finish();
  bar.reset();
  print({{"samples", out.samples()}, {"shards", out.shards()}});
}

void convert(const convert_arguments& args) {
  const stop_signals signals;
  try {
    convert_until(signals.token(), args);
  } catch (const mds::error&) {
    if (signals.received() == 0) throw;
    throw interrupted(signals.received(),
                      "the conversion was stopped by a signal; what lies there has no index");
  }
}

}  // namespace

void add_convert(CLI::App& program) {
  auto args = std::make_shared<convert_arguments>();
  CLI::App* const command = program.add_subcommand(
      "convert", "Write what a stream of foreign files would read as an MDS dataset");
  command->add_option("from", args->from, "The files: a directory or one file, local or remote")
      ->required()
      ->type_name("SRC");
  command->add_option("to", args->to, "Directory of the dataset")->required()->type_name("DST");
  command->add_option("--compression", args->compression, "zstd, zstd:7, gz, ... [none]");
  command->add_option("--hashes", args->hashes, "Hashes to keep in the index, or none [xxh64]")
      ->delimiter(',');
  command->add_option("--size-limit", args->size_limit, "Bytes of a raw shard [64mb]");
  command
      ->add_option("--cuts", args->cuts,
                   "limit: shards of --size-limit; keep: those that a stream has, whose order "
                   "the dataset's then is [limit]")
      ->check(CLI::IsMember({"limit", "keep"}));
  command->add_flag("--replace", args->replace, "Replace a dataset that is there");
  command->add_option("--jobs", args->jobs, "Shards that are made at a time [cores and two]")
      ->check(CLI::Range(1U, 1024U));
  add_patience(*command, args->patience);
  args->raw.add_to(*command, "Files");
  command->callback([args] { convert(*args); });
}

}  // namespace cli
