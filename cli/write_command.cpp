// mdstream write: JSON lines become a dataset.

#include <mdstream/full.hpp>
#include <mdstream/writer/row_writer.hpp>
#include <mdstream/writer/writer.hpp>

#include "command.hpp"
#include "input_sample.hpp"
#include "patience.hpp"
#include "progress_bar.hpp"

#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cli {

namespace {

struct write_arguments {
  std::string out, format = "mds", compression, size_limit = "64mb", separator, newline = "\n",
                   existing = "error", part = "0/1", keep_local;
  std::vector<std::string> columns, hashes{"xxh64"};
  unsigned threads = 2;
  bool typed = false;
  store_patience patience;
};

// Backslash escapes, since a shell passes no line break easily.
std::string unescaped(const std::string& text) {
  static const std::map<char, char> escapes = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'\\', '\\'}};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto escape =
        text[i] == '\\' && i + 1 < text.size() ? escapes.find(text[i + 1]) : escapes.end();
    out += escape == escapes.end() ? text[i] : escape->second;
    if (escape != escapes.end()) ++i;
  }
  return out;
}

std::vector<mds::column_spec> columns_of(const write_arguments& args) {
  std::vector<mds::column_spec> out;
  for (const std::string& column : args.columns) {
    const std::size_t middle = column.rfind('=');
    if (middle == std::string::npos) {
      throw usage_error("--column " + column + ": a column is given as NAME=ENCODING");
    }
    out.push_back({column.substr(0, middle), column.substr(middle + 1)});
  }
  return out;
}

mds::shard_format format_of(const std::string& name) {
  if (const auto found = mds::find_shard_format(name == "jsonl" ? "json" : name)) return *found;
  throw usage_error("--format " + name + ": there are mds, jsonl, csv, tsv and xsv");
}

mds::existing_dataset existing_of(const std::string& name) {
  using mds::existing_dataset;
  static const std::map<std::string, existing_dataset> names = {
      {"error", existing_dataset::error},
      {"replace", existing_dataset::replace},
      {"append", existing_dataset::append},
      {"resume", existing_dataset::resume}};
  if (const auto found = names.find(name); found != names.end()) return found->second;
  throw usage_error("--existing " + name + ": there are error, replace, append and resume");
}

// "3/8"
mds::writer_part part_of(const std::string& text) {
  mds::writer_part out;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, out.number);
  const bool has_slash = number.ec == std::errc() && number.ptr != end && *number.ptr == '/';
  const auto of = has_slash ? std::from_chars(number.ptr + 1, end, out.of) : number;
  if (!has_slash || of.ec != std::errc() || of.ptr != end || out.number >= out.of)
    throw usage_error("--part " + text + ": a part is given as 0/8, 1/8, ... 7/8");
  return out;
}

/// How far a writer is, for a terminal.
class shown_progress {
 public:
  shown_progress() : bar_([this](double seconds) { return text(seconds); }) {}
  void take(const mds::writer_progress& now) {
    samples_ = now.samples;
    shards_ = now.shards;
    bytes_ = now.stored_bytes;
  }

 private:
  [[nodiscard]] std::string text(double seconds) const {
    const auto bytes = static_cast<double>(bytes_);
    return std::to_string(samples_) + " samples, " + std::to_string(shards_) + " shards, " +
           binary_size(bytes) + ", " + binary_size(seconds > 0 ? bytes / seconds : 0) + "/s";
  }

  std::atomic<std::uint64_t> samples_{0}, shards_{0}, bytes_{0};
  progress_bar bar_;
};

template <class Options>
Options common_options(const write_arguments& args, shown_progress& shown) {
  Options out;
  out.out = args.out;
  out.columns = columns_of(args);
  out.compression = args.compression;
  out.hashes = args.hashes;
  if (out.hashes == std::vector<std::string>{"none"}) out.hashes.clear();
  out.size_limit = mds::byte_size(std::string_view(args.size_limit));
  out.max_workers = args.threads;
  out.existing = existing_of(args.existing);
  out.part = part_of(args.part);
  out.keep_local = args.keep_local;
  out.progress = [&shown](const mds::writer_progress& now) { shown.take(now); };
  out.patience = args.patience.most;
  return out;
}

// What is wrong with options alone, whatever lies in the store, is a fault of the command line.
template <class Make>
auto checked(Make make) {
  try {
    return make();
  } catch (const mds::error& e) {
    const bool about_options =
        e.code() == mds::errc::invalid_argument || e.code() == mds::errc::unsupported;
    if (about_options && e.where().url.empty()) throw usage_error(e.what());
    throw;
  }
}

class input_lines {
 public:
  input_lines() = default;
  input_lines(const input_lines&) = delete;
  input_lines& operator=(const input_lines&) = delete;
  ~input_lines() { std::free(buffer_); }

  /// Whether there is another line, empty ones left out.
  bool next() {
    while (true) {
      const ssize_t size = getline(&buffer_, &capacity_, stdin);
      if (size < 0) {
        if (std::ferror(stdin) != 0) throw mds::error(mds::errc::io_error, "cannot read stdin");
        return false;
      }
      ++number_;
      line_ = {buffer_, static_cast<std::size_t>(size)};
      if (line_.find_first_not_of(" \t\r\n") != std::string_view::npos) return true;
    }
  }

  [[nodiscard]] std::string_view line() const { return line_; }
  [[nodiscard]] std::string place() const {
    return "line " + std::to_string(number_) + " of stdin";
  }

 private:
  char* buffer_ = nullptr;
  std::size_t capacity_ = 0;
  std::string_view line_;
  std::uint64_t number_ = 0;
};

template <class Writer>
void write_lines(Writer& out, const write_arguments& args) {
  input_lines in;
  // The lines of a dataset that is resumed are those that it was begun with.
  std::uint64_t skips = args.existing == "resume" ? out.kept_samples() : 0;
  while (in.next()) {
    if (skips > 0) {
      --skips;
      continue;
    }
    try {
      out.write(input_sample(out.layout(), in.line(), args.typed).values());
    } catch (const mds::error& e) {
      mds::diagnostics where = e.where();
      if (where.url.empty()) where.url = in.place();
      throw mds::error(e.code(), std::move(where));
    }
  }
  if (skips > 0)
    throw mds::error(mds::errc::invalid_argument,
                     {.what = "stdin has fewer lines than the dataset has samples already: resume "
                              "with all the lines that it was begun with",
                      .url = args.out});
  out.finish();
}

template <class Writer>
void print_result(const Writer& out, const write_arguments& args) {
  json result{{"samples", out.samples()}, {"shards", out.shards()}};
  if (args.existing == "resume") result["kept_samples"] = out.kept_samples();
  print(result);
}

void write_mds(const write_arguments& args) {
  if (!args.separator.empty()) throw usage_error("--separator is for --format xsv");
  using writer = mds::writer<mds::full_policies>;
  std::optional<shown_progress> shown(std::in_place);
  const auto out = checked([&] {
    return std::make_unique<writer>(common_options<typename writer::options>(args, *shown));
  });
  write_lines(*out, args);
  shown.reset();
  print_result(*out, args);
}

void write_rows(const write_arguments& args, mds::shard_format format) {
  using writer = mds::row_writer<mds::full_policies>;
  std::optional<shown_progress> shown(std::in_place);
  const auto out = checked([&] {
    auto options = common_options<typename writer::options>(args, *shown);
    options.format = format;
    options.newline = unescaped(args.newline);
    options.separator = unescaped(args.separator);
    return std::make_unique<writer>(std::move(options));
  });
  write_lines(*out, args);
  shown.reset();
  print_result(*out, args);
}

void write(const write_arguments& args) {
  const mds::shard_format format = format_of(args.format);
  format == mds::shard_format::mds ? write_mds(args) : write_rows(args, format);
}

}  // namespace

void add_write(CLI::App& program) {
  auto args = std::make_shared<write_arguments>();
  CLI::App* const command =
      program.add_subcommand("write", "Write a dataset from JSON lines on stdin");
  command->add_option("--out", args->out, "Directory of the dataset: a local path or a remote URL")
      ->required()
      ->type_name("URL");
  command
      ->add_option("--column", args->columns,
                   "A column: once for each, such as text=str or tokens=ndarray:uint16")
      ->required()
      ->allow_extra_args(false)
      ->type_name("NAME=ENCODING");
  command->add_option("--format", args->format, "mds, jsonl, csv, tsv or xsv")
      ->capture_default_str();
  command->add_option("--compression", args->compression,
                      "zstd, gz, bz2, br or snappy, with a level as in zstd:3 [none]");
  command
      ->add_option("--hashes", args->hashes,
                   "Hashes for the index, such as sha1,xxh64; none: no hash")
      ->capture_default_str()
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--size-limit", args->size_limit, "Bytes of a raw shard; 0: no limit")
      ->capture_default_str();
  command->add_option("--separator", args->separator,
                      "Between the fields of a row (xsv); \\t: a tab");
  command->add_option("--newline", args->newline, "What ends a row (not in mds) [\\n]");
  command->add_flag("--typed", args->typed, "The values are as cat --typed prints them");
  command
      ->add_option("--existing", args->existing,
                   "What to do with a dataset that is there: error, replace, append, or resume: "
                   "keep what a killed write has stored, and go on with the same lines")
      ->capture_default_str();
  command
      ->add_option("--part", args->part,
                   "Which part of the dataset this is, where several processes write one: 0/8, "
                   "1/8, ... The last to finish writes the index of all")
      ->capture_default_str()
      ->type_name("K/N");
  command->add_option("--keep-local", args->keep_local, "A local directory that gets a copy")
      ->type_name("DIR");
  command->add_option("--threads", args->threads, "Threads that hash, compress and store shards")
      ->capture_default_str();
  add_patience(*command, args->patience);
  command->callback([args] { write(*args); });
}

}  // namespace cli
