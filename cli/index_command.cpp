// mdstream index: the row index of foreign files.

#include <mdstream/source/build_index.hpp>

#include "command.hpp"
#include "formats.hpp"
#include "progress_bar.hpp"
#include "raw_source.hpp"
#include "stop_signals.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace cli {

namespace {

struct index_arguments {
  std::string url, out;
  raw_arguments raw{};
  bool update = false, as_json = false;
  unsigned jobs = 0;
};

std::string text_of(const mds::raw::index_progress& p, double seconds) {
  const auto bytes = static_cast<double>(p.bytes), all = static_cast<double>(p.bytes_expected);
  const double rate = seconds > 0 ? bytes / seconds : 0;
  std::string text = std::to_string(p.objects) + " objects, " + binary_size(bytes) + " of " +
                     binary_size(all) + ", " + binary_size(rate) + "/s";
  if (all > bytes && rate > 0) {
    text += ", " + std::to_string(static_cast<std::uint64_t>((all - bytes) / rate) + 1) + " s left";
  }
  return text;
}

json report(const mds::raw::made_index& made, const std::string& where) {
  std::uint64_t bytes = 0;
  for (const auto& each : made.index.objects) bytes += each.file.bytes;
  return {{"index", where},
          {"format", made.index.options.format},
          {"samples", made.index.samples()},
          {"shards", made.index.shards()},
          {"objects", made.index.objects.size()},
          {"bytes", bytes},
          {"skipped", made.skipped},
          {"resumed", made.resumed},
          {"scanned_for_update", made.update.to_scan.size()},
          {"changed", made.update.changed.size()},
          {"gone", made.update.gone.size()},
          {"columns", columns_json(made.index.options.columns)}};
}

void print_report(const json& what) {
  for (const char* key : {"samples", "shards", "objects", "bytes", "skipped"}) {
    std::printf("%-14s %llu\n", key,
                static_cast<unsigned long long>(what[key].get<std::uint64_t>()));
  }
  for (const json& column : what["columns"]) {
    std::printf("column         %s: %s\n", column["name"].get<std::string>().c_str(),
                column["encoding"].get<std::string>().c_str());
  }
  std::printf("%-14s %s\n", "index", what["index"].get<std::string>().c_str());
}

void index_until(const std::stop_token& stop, const index_arguments& args) {
  if (args.update && args.raw.given()) {
    throw usage_error("--update takes the index's own options: index anew to change them");
  }
  // For an update, what the index says is listed.
  std::optional<mds::raw::detail::row_index> known;
  mds::raw::options about = args.raw.options();
  if (args.update) {
    about.format = "jsonl";  // any: the listing of this one only leads to the index
    const raw_source place(args.url, about, stop);
    known = place.index_at(args.out.empty() ? place.index_url() : args.out);
    if (!known) {
      throw mds::error(mds::errc::not_found,
                       {.what = "there is no row index to update",
                        .url = args.out.empty() ? place.index_url() : args.out});
    }
    about = known->options;
  }
  const raw_source source(args.url, about, stop);
  if (source.is_one_file() && args.out.empty()) {
    throw usage_error(
        "the index of one file needs --out, or a directory with --files in its place");
  }
  const std::string where = args.out.empty() ? source.index_url() : args.out;
  mds::raw::index_progress progress;
  std::optional<progress_bar> bar;
  bar.emplace([&](double seconds) { return text_of(progress, seconds); });
  const mds::raw::made_index made = mds::raw::build_index(
      source.store(), decoders(), formats::open(source.about()), source.listing(),
      source.open_patient(where),
      {.jobs = args.jobs, .known = known ? &*known : nullptr, .progress = &progress, .stop = stop});
  bar.reset();
  const json what = report(made, where + '/' + std::string(mds::raw::row_index_name));
  args.as_json ? print(what) : print_report(what);
}

void index(const index_arguments& args) {
  const stop_signals signals;
  try {
    index_until(signals.token(), args);
  } catch (const mds::error& e) {
    if (signals.received() == 0) throw;
    std::string what = "the index was stopped by a signal; started again, it goes on";
    if (e.code() != mds::errc::canceled) what += "; before that: " + std::string(e.what());
    throw interrupted(signals.received(), what);
  }
}

}  // namespace

void add_index(CLI::App& program) {
  auto args = std::make_shared<index_arguments>();
  CLI::App* const command = program.add_subcommand(
      "index", "Build the row index of files that are no dataset; a killed one can be continued");
  command->add_option("url", args->url, "Directory of the files: a local path or a remote URL")
      ->required()
      ->type_name("URL");
  command
      ->add_option("--out", args->out, "Directory of the index [.mdstream under that of the files]")
      ->type_name("URL");
  command->add_flag("--update", args->update,
                    "Scan what was added or changed since the index was made");
  command->add_flag("--json", args->as_json, "As a JSON object");
  command->add_option("--jobs", args->jobs, "Scans at a time [twice the cores]")
      ->check(CLI::Range(1U, 1024U));
  args->raw.add_to(*command, "Files");
  command->callback([args] { index(*args); });
}

}  // namespace cli
