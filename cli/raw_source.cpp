#include "raw_source.hpp"

#include <mdstream/codec/detail/gz_stream.hpp>
#include <mdstream/codec/detail/zstd_stream.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/raw/detail/guess_format.hpp>
#include <mdstream/raw/files.hpp>
#include <mdstream/source/build_index.hpp>
#include <mdstream/source/list_source.hpp>
#include <mdstream/store/memory.hpp>

#include "formats.hpp"
#include "progress_bar.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace cli {

namespace {

// A URL ends in a file's name where that tells a format; it may not be a pattern.
std::string file_of(const std::string& url) {
  const std::size_t slash = url.rfind('/');
  const std::string name = slash == std::string::npos ? url : url.substr(slash + 1);
  const bool is_file = !mds::raw::detail::format_of_name(name).empty() &&
                       name.find_first_of("*?{") == std::string::npos;
  return is_file ? name : std::string();
}

std::string directory_of(const std::string& url, const std::string& file) {
  const std::string parent = url.substr(0, url.size() - file.size());
  if (parent.empty()) return ".";
  return parent == "/" ? parent : parent.substr(0, parent.size() - 1);
}

}  // namespace

void raw_arguments::add_to(CLI::App& command, const std::string& group) {
  const auto add = [&](CLI::Option* option) {
    option->group(group);
    all_.push_back(option);
  };
  add(command
          .add_option(
              "--format", about.format,
              "jsonl, text, csv, parquet, webdataset, files, images or tokens [by the names]")
          ->type_name("NAME"));
  add(command
          .add_option("--files", about.files,
                      "Files to read: a pattern such as en/*.json.gz or {000..123}.tar; ** stands "
                      "for directories too [all]")
          ->type_name("GLOB"));
  add(command
          .add_option("--column", columns,
                      "A column, name=encoding or name=encoding@/json/pointer, as often as there "
                      "are columns [inferred]")
          ->type_name("COLUMN"));
  add(command
          .add_option("--null", about.null_value,
                      "JSON of the value that stands for null and for what is missing")
          ->type_name("JSON"));
  add(command.add_flag("--skip-bad", about.skip_bad, "Leave out rows that cannot be read"));
  add(command.add_option("--shard-bytes", shard_bytes, "Bytes in a virtual shard [64 MiB]"));
  add(command.add_option("--delimiter", about.delimiter, "csv: what separates fields [,]"));
  add(command.add_option("--unit", about.unit, "text: line or paragraph [line]"));
  add(command.add_option("--window", about.window, "tokens: tokens in a sample [a document]"));
  add(command.add_option("--stride", about.stride, "tokens: from sample to sample [--window]"));
  add(command.add_option("--dtype", about.dtype, "tokens: of files without a header"));
  add(command.add_option("--document-token", about.document_token,
                         "tokens: the id that begins a document"));
  add(command.add_flag("--document-token-last", about.document_token_last,
                       "tokens: that id ends a document"));
}

bool raw_arguments::given() const {
  return std::any_of(all_.begin(), all_.end(),
                     [](const CLI::Option* each) { return each->count() > 0; });
}

mds::raw::options raw_arguments::options() const {
  mds::raw::options out = about;
  for (const std::string& each : columns) out.columns.push_back(mds::raw::parse_column(each));
  if (shard_bytes != 0) out.shard_bytes = shard_bytes;
  return out;
}

raw_source::raw_source(const std::string& url, mds::raw::options about, const std::stop_token& stop)
    : threads_(std::make_unique<mds::runtime>(2)),
      url_(url),
      about_(std::move(about)),
      patient_([&] {
        if (const std::string file = file_of(url); !file.empty() && about_.files.empty()) {
          about_.files = file;
          is_one_file_ = true;
          url_ = directory_of(url, file);
        }
        return open_patient(url_);
      }()),
      listing_(mds::raw::list_source(patient_, about_.files, stop)) {
  if (about_.format.empty()) mds::raw::detail::guess_format(about_, listing_);
}

mds::any_async_store raw_source::open_patient(const std::string& url) const {
  return mds::retrying(*threads_, mds::full_store::open(url, *threads_).on(*threads_),
                       {.attempts = 4, .pause = std::chrono::milliseconds(200)});
}

std::optional<mds::raw::detail::row_index> raw_source::index_at(const std::string& url) const {
  return mds::raw::read_row_index(open_patient(url));
}

std::string raw_source::index_url() const {
  return mds::join_key(url_, mds::raw::row_index_directory);
}

const mds::detail::stream_decoders& decoders() {
  static const mds::detail::stream_decoders all{mds::detail::gz_stream(),
                                                mds::detail::zstd_stream()};
  return all;
}

std::optional<mds::raw::detail::row_index> find_index(const raw_source& source) {
  return source.index_at(source.index_url());
}

mds::raw::detail::row_index index_of(const raw_source& source, const raw_arguments& given,
                                     unsigned jobs, const std::stop_token& stop) {
  if (!given.given() && !source.is_one_file())
    if (auto found = find_index(source)) return *std::move(found);
  mds::raw::index_progress progress;
  const progress_bar bar([&](double) {
    return "looking for rows: " + binary_size(static_cast<double>(progress.bytes)) + " of " +
           binary_size(static_cast<double>(progress.bytes_expected));
  });
  return mds::raw::build_index(
             source.store(), decoders(), formats::open(source.about()), source.listing(),
             mds::store::memory(),
             {.jobs = jobs, .entries = false, .progress = &progress, .stop = stop})
      .index;
}

std::optional<raw_source> files_at(const dataset_arguments& place, const raw_arguments& given) {
  const std::string url = place.split.empty() ? place.url : place.url + "/" + place.split;
  if (given.given()) return raw_source(url, given.options());
  try {
    (void)place.open();
  } catch (const mds::error& e) {
    if (e.code() == mds::errc::not_found || e.code() == mds::errc::io_error) {
      try {
        return raw_source(url, {});
      } catch (const mds::error&) {  // there is neither
      }
    }
    throw;
  }
  return std::nullopt;
}

json columns_json(const std::vector<mds::raw::column>& columns) {
  json out = json::array();
  for (const mds::raw::column& each : columns) {
    json one = {{"name", each.name}, {"encoding", each.encoding}};
    if (!each.pointer.empty()) one["pointer"] = each.pointer;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace cli
