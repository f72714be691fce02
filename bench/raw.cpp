// Foreign files as streams, beside the same rows as MDS and other libraries that read the files:
// first epochs, cached epochs, token windows, the scan that makes an index, and conversion.

#include <mdstream/codec/detail/gz_stream.hpp>
#include <mdstream/codec/detail/zstd_stream.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/source/build_index.hpp>
#include <mdstream/source/detail/each_shard.hpp>
#include <mdstream/source/formats.hpp>
#include <mdstream/source/list_source.hpp>
#include <mdstream/store/memory.hpp>

#ifdef BENCH_WITH_PARQUET
#include <mdstream/raw/parquet.hpp>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <parquet/arrow/writer.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "raw/random_sources.hpp"
#include "store/scratch.hpp"
#include "support/harness.hpp"
#include "support/peer.hpp"
#ifdef BENCH_MDSTREAM
#include "support/program.hpp"
#include "tests/support/nginx.hpp"
#endif

namespace mds = mdstream;
namespace raw = mdstream::raw;
using namespace mds::literals;

namespace {

#ifdef BENCH_WITH_PARQUET
using policies = mds::policies<raw::plain_formats::with<raw::parquet>>;
#else
using policies = mds::policies<raw::plain_formats>;
#endif
using as_samples = policies::with<mds::collate::none>;

std::string text_of(std::mt19937& random, std::size_t bytes) {
  static constexpr char letters[] = "etaoin shrdlu cmfwyp vbgkqj xz ETAOIN 0123456789.,";
  std::string out(bytes, ' ');
  for (char& c : out) c = letters[random() % (sizeof letters - 1)];
  return out;
}

/// Files of one kind with their index beside them, and the dataset that they convert to.
class source {
 public:
  /// `make` gives the bytes of one file, `ending` is of its name.
  source(raw::options about, std::size_t files, const std::string& ending,
         const std::function<std::string()>& make)
      : about_(std::move(about)) {
    std::filesystem::create_directories(this->files());
    for (std::size_t i = 0; i < files; ++i) {
      const std::string bytes = make();
      bytes_ += bytes.size();
      std::ofstream(this->files() + "/part-" + std::to_string(i) + ending, std::ios::binary)
          << bytes;
    }
    const mds::opened_store store{mds::store::local(this->files())};
    const mds::any_async_store async = store.on(threads_);
    const raw::source_format format = policies::format::open(about_);
    const raw::detail::row_index index =
        raw::build_index(async, {}, format, raw::list_source(async, ""),
                         mds::store::local(this->files() + "/.mdstream"))
            .index;
    mds::writer_options options{.out = mds(), .size_limit = 0};
    for (const raw::column& each : index.options.columns)
      options.columns.push_back({each.name, each.encoding});
    mds::writer<> out(std::move(options));
    mds::detail::for_each_shard(async, {}, policies::format::open(index.options), index,
                                [&](const raw::detail::transcoded& made) {
                                  const mds::mds_shard_view rows(made.shard, made.samples);
                                  for (std::uint64_t i = 0; i < rows.size(); ++i)
                                    out.write_raw(rows[i]);
                                  out.end_shard();
                                });
    out.finish();
  }

  [[nodiscard]] std::string files() const { return dir_ / "files"; }
  [[nodiscard]] std::string mds() const { return dir_ / "mds"; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const raw::options& about() const { return about_; }
  [[nodiscard]] mds::stream_options as_files() const { return {.remote = files(), .raw = about_}; }
  [[nodiscard]] mds::stream_options as_mds() const { return {.remote = mds()}; }

  /// An epoch in batches, by a loader that is opened for it. Bytes of the files.
  std::uint64_t epoch(const mds::stream_options& stream, const std::string& cache) const {
    return epoch_of({.streams = {stream}, .local = dir_ / cache, .batch_size = 64});
  }
  /// The same of the files where they lie.
  std::uint64_t epoch_in_place() const {
    return epoch_of({.streams = {as_files()}, .batch_size = 64});
  }
  std::uint64_t first_epoch(const mds::stream_options& stream, const std::string& cache) const {
    std::filesystem::remove_all(dir_ / cache);
    return epoch(stream, cache);
  }

 private:
  std::uint64_t epoch_of(const mds::loader_options& given) const {
    mds::loader<policies> loader(given);
    std::uint64_t samples = 0;
    for (const auto& batch : loader.epoch()) samples += batch.size();
    if (samples == 0) std::abort();
    return bytes_;
  }

  scratch_directory::scratch dir_;
  mds::runtime threads_{2};
  raw::options about_;
  std::uint64_t bytes_ = 0;
};

/// A source that is made when a case that was asked for needs it.
class lazy_source {
 public:
  template <class... Given>
  explicit lazy_source(Given... given)
      : make_([=] { return std::make_unique<source>(given...); }) {}

  [[nodiscard]] const source& operator()() {
    if (!made_) made_ = make_();
    return *made_;
  }

 private:
  std::function<std::unique_ptr<source>()> make_;
  std::unique_ptr<source> made_;
};

void run_command(const std::string& command) {
  if (std::system(command.c_str()) != 0) std::abort();
}

bench::contender copy_of(const source& of) {
  return {"limit:cp -r", [&of] {
            const scratch_directory::scratch to;
            run_command("cp -r " + of.files() + ' ' + to.path());
            return of.bytes();
          }};
}

/// What takes turns besides.
using more = std::vector<bench::contender> (*)(const source& of);

std::vector<bench::contender> none(const source&) { return {}; }
std::vector<bench::contender> copying(const source& of) { return {copy_of(of)}; }
/// A first epoch is as any other.
std::vector<bench::contender> in_place(const source& of) {
  return {{"mdstream, in place", [&of] { return of.epoch_in_place(); }}};
}

/// How one is run: `source::first_epoch`, or `source::epoch` of what is cached.
using an_epoch = std::uint64_t (source::*)(const mds::stream_options&, const std::string&) const;

void epoch_case(const std::string& name, lazy_source& files, an_epoch run, more besides) {
  if (!bench::is_wanted(name)) return;
  const source& of = files();
  bench::run_case(
      "raw", name, "bytes/s",
      bench::with(bench::with({{"mdstream", [&] { return (of.*run)(of.as_files(), "raw"); }},
                               {"mds", [&] { return (of.*run)(of.as_mds(), "as-mds"); }}},
                              besides(of)),
                  bench::peers_of("raw", name, of.files())),
      5);
}

void epochs(const std::string& what, lazy_source& files, more first = none, more cached = none) {
  epoch_case("first epoch, " + what, files, &source::first_epoch, first);
  epoch_case("cached epoch, " + what, files, &source::epoch, cached);
}

/// Windows in the order of the loader, from the mapped shards and straight from the mapped file.
void windows(lazy_source& files, std::uint64_t window) {
  const std::string name = "token windows, cached, at random";
  if (!bench::is_wanted(name)) return;
  const source& of = files();
  const mds::dataset<as_samples> data({.streams = {of.as_files()}, .local = of.files() + "-cache"});
  std::vector<std::uint64_t> order(data.size());
  for (std::uint64_t i = 0; i < order.size(); ++i) order[i] = i;
  std::mt19937 random(1);
  std::ranges::shuffle(order, random);
  const std::string path = of.files() + "/part-0.bin";
  const mds::detail::unique_fd fd = mds::detail::open_file(path, 0);
  const auto file = mds::detail::file_mapping::of(
      fd.get(), static_cast<std::size_t>(std::filesystem::file_size(path)), path);
  std::vector<std::byte> into(2 * window);
  std::uint64_t sum = 0;
  bench::run_case(
      "raw", name, "samples/s",
      bench::with({{"mdstream",
                    [&] {
                      for (const std::uint64_t i : order) {
                        const auto sample = data[i];
                        const mds::bytes_view tokens = sample.get<mds::bytes_view>("tokens");
                        std::memcpy(into.data(), tokens.data(), tokens.size());
                        sum += static_cast<std::uint64_t>(into[0]);
                      }
                      return order.size();
                    }},
                   {"limit:mmap",
                    [&] {
                      for (const std::uint64_t i : order) {
                        std::memcpy(into.data(), file.bytes().data() + 1024 + 2 * i * (window - 1),
                                    2 * window);
                        sum += static_cast<std::uint64_t>(into[0]);
                      }
                      return order.size();
                    }}},
                  bench::peers_of("raw", name, of.files())));
  if (sum == 1) std::abort();
}

void scan(lazy_source& files) {
  const std::string name = "scan of lines, one core";
  if (!bench::is_wanted(name)) return;
  const source& of = files();
  mds::runtime threads(2);
  const mds::opened_store store{mds::store::local(of.files())};
  const mds::any_async_store async = store.on(threads);
  const std::vector<raw::detail::listed_object> listing = raw::list_source(async, "");
  bench::run_case(
      "raw", name, "bytes/s",
      {{"mdstream",
        [&] {
          raw::options about = of.about();
          about.columns = {{"text", "str", ""}};
          (void)raw::build_index(async, {}, policies::format::open(about), listing,
                                 mds::store::memory(), {.jobs = 1});
          return of.bytes();
        }},
       {"wc -l",
        [&] {
          if (std::system(("cat " + of.files() + "/part-* | wc -l > /dev/null").c_str()) != 0)
            std::abort();
          return of.bytes();
        }}},
      5);
}

/// The same lines compressed by `pack`, beside the tool that unpacks them.
void scan_packed(lazy_source& files, const std::string& kind, const std::string& ending,
                 const std::string& pack, const std::string& unpack) {
  const std::string name = "scan of " + kind + ", one core";
  if (!bench::is_wanted(name)) return;
  const source& of = files();
  const scratch_directory::scratch dir;
  run_command("for f in " + of.files() + "/part-*; do " + pack + " < $f > " + dir.path() +
              "/$(basename $f)" + ending + "; done");
  mds::runtime threads(2);
  const mds::opened_store store{mds::store::local(dir.path())};
  const mds::any_async_store async = store.on(threads);
  const std::vector<raw::detail::listed_object> listing = raw::list_source(async, "");
  raw::options about = of.about();
  about.columns = {{"text", "str", ""}};
  bench::run_case("raw", name, "bytes/s",
                  {{"mdstream",
                    [&] {
                      (void)raw::build_index(async,
                                             {mds::detail::gz_stream(), mds::detail::zstd_stream()},
                                             policies::format::open(about), listing,
                                             mds::store::memory(), {.jobs = 1});
                      return of.bytes();
                    }},
                   {unpack,
                    [&] {
                      run_command(unpack + " -c " + dir.path() + "/part-* > /dev/null");
                      return of.bytes();
                    }}},
                  5);
}

#ifdef BENCH_MDSTREAM
/// The command line `words`, to which an empty directory is added, from its start to its end.
bench::contender command(const std::string& who, const source& of, std::vector<std::string> words) {
  return bench::contender::measured(who, [&of, words] {
    const scratch_directory::scratch to;
    std::vector<std::string> all = words;
    all.push_back(to.path());
    const bench::program_cost cost = bench::run_program(all);
    return bench::turn{static_cast<double>(of.bytes()), cost.seconds, cost.cpu_s, cost.resident_mb};
  });
}

void scan_over_http(lazy_source& files) {
  const std::string name = "scan of lines, over HTTP";
  if (!bench::is_wanted(name)) return;
  const source& of = files();
  const scratch_directory::scratch state;
  const support::nginx server(of.files(), state.path());
  const std::string list = state / "list";
  std::ofstream lines(list);
  for (const auto& each : std::filesystem::directory_iterator(of.files()))
    if (each.is_regular_file())
      lines << server.url() << '/' << each.path().filename().native() << '\n';
  lines.close();
  bench::run_case(
      "raw", name, "bytes/s",
      {command("mdstream", of,
               {BENCH_MDSTREAM, "index", server.url(), "--format", "jsonl", "--files",
                "part-{0..3}.jsonl", "--column", "text=str", "--shard-bytes", "16777216", "--out"}),
       command("limit:mdstream copy", of, {BENCH_MDSTREAM, "copy", "--list", list})},
      5);
}

void conversion(lazy_source& files) {
  const std::string name = "conversion to MDS, jsonl";
  if (!bench::is_wanted(name)) return;
  const source& of = files();
  bench::run_case(
      "raw", name, "bytes/s",
      {command("mdstream", of,
               {BENCH_MDSTREAM, "convert", "--replace", "--format", "jsonl", of.files()}),
       command("limit:cp -r", of, {"cp", "-r", of.files()})},
      5);
}
#endif

#ifdef BENCH_WITH_PARQUET
/// What making an index reads of a Parquet file is its footer.
void scan_footers(lazy_source& files) {
  const std::string name = "scan of 1,000 Parquet footers";
  if (!bench::is_wanted(name)) return;
  const source& of = files();
  mds::runtime threads(2);
  const mds::opened_store store{mds::store::local(of.files())};
  const mds::any_async_store async = store.on(threads);
  const std::vector<raw::detail::listed_object> listing = raw::list_source(async, "");
  bench::run_case("raw", name, "files/s",
                  bench::with({{"mdstream",
                                [&] {
                                  (void)raw::build_index(async, {},
                                                         policies::format::open(of.about()),
                                                         listing, mds::store::memory());
                                  return static_cast<std::uint64_t>(listing.size());
                                }}},
                              bench::peers_of("raw", name, of.files())),
                  5);
}

/// A file as pyarrow writes it by default, of about so many bytes.
std::string parquet_file(std::size_t bytes, const std::function<std::string()>& text) {
  arrow::Int64Builder ids;
  arrow::StringBuilder texts, urls;
  arrow::DoubleBuilder scores;
  std::size_t made = 0;
  for (std::int64_t id = 0; made < bytes; ++id) {
    const std::string one = text();
    made += one.size();
    PARQUET_THROW_NOT_OK(ids.Append(id));
    PARQUET_THROW_NOT_OK(texts.Append(one));
    PARQUET_THROW_NOT_OK(urls.Append("https://example.org/" + std::to_string(id)));
    PARQUET_THROW_NOT_OK(scores.Append(0.25));
  }
  const auto table = arrow::Table::Make(
      arrow::schema({arrow::field("id", arrow::int64()), arrow::field("text", arrow::utf8()),
                     arrow::field("url", arrow::utf8()), arrow::field("score", arrow::float64())}),
      {ids.Finish().ValueOrDie(), texts.Finish().ValueOrDie(), urls.Finish().ValueOrDie(),
       scores.Finish().ValueOrDie()});
  const auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  PARQUET_THROW_NOT_OK(parquet::arrow::WriteTable(
      *table, arrow::default_memory_pool(), out, 5000,
      parquet::WriterProperties::Builder().compression(parquet::Compression::SNAPPY)->build()));
  return out->Finish().ValueOrDie()->ToString();
}
#endif

}  // namespace

int main() {
  std::mt19937 random(1);
  std::vector<std::string> texts(64);
  for (std::string& each : texts) each = text_of(random, 500 + random() % 4000);
  std::uint64_t row = 0;
  const auto text = [&]() -> const std::string& { return texts[++row % texts.size()]; };
  // for what is compressed: no text comes twice
  const auto unlike = [&] { return text_of(random, 500 + random() % 4000); };
  constexpr std::size_t files = 4, file_bytes = std::size_t{48} << 20;
  const auto repeat = [&](const std::function<void(std::string&)>& add) {
    return [add] {
      std::string out;
      while (out.size() < file_bytes) add(out);
      return out;
    };
  };
  {
    lazy_source jsonl(raw::options{.format = "jsonl", .shard_bytes = 16_MiB}, files, ".jsonl",
                      repeat([&](auto& out) {
                        ++row;
                        out += "{\"id\": " + std::to_string(row) + ", \"text\": \"" + unlike() +
                               "\", \"url\": \"https://example.org/" + std::to_string(row) +
                               "\", \"score\": 0.25}\n";
                      }));
    epochs("jsonl", jsonl);
    scan(jsonl);
    scan_packed(jsonl, "gz", ".gz", "gzip -6", "gzip -d");
    scan_packed(jsonl, "zstd", ".zst", "zstd -q -3", "zstd -q -d");
#ifdef BENCH_MDSTREAM
    scan_over_http(jsonl);
    conversion(jsonl);
#endif
  }
  {
    lazy_source csv(raw::options{.format = "csv", .shard_bytes = 16_MiB}, files, ".csv", [&] {
      std::string out = "id,text\n";
      while (out.size() < file_bytes) out += std::to_string(row) + ",\"" + text() + "\"\n";
      return out;
    });
    epochs("csv", csv);
  }
  {
    lazy_source tar(raw::options{.format = "webdataset", .shard_bytes = 16_MiB}, files, ".tar",
                    repeat([&](auto& out) {
                      const std::string name = "sample-" + std::to_string(row);
                      out += raw_test::tar_member(name + ".cls", std::to_string(row % 1000)) +
                             raw_test::tar_member(name + ".bin", text() + text() + text());
                    }));
    epochs("tar", tar);
  }
#ifdef BENCH_WITH_PARQUET
  {
    lazy_source parquet(raw::options{.format = "parquet", .shard_bytes = 16_MiB}, files, ".parquet",
                        [&] { return parquet_file(file_bytes, unlike); });
    epochs("parquet", parquet);
    lazy_source small(raw::options{.format = "parquet"}, std::size_t{1000}, ".parquet",
                      [&] { return parquet_file(100'000, text); });
    scan_footers(small);
  }
#endif
  {
    lazy_source small(raw::options{.format = "files", .shard_bytes = 16_MiB}, std::size_t{1500},
                      ".dat", [&] {
                        std::string out;
                        while (out.size() < 110'000) out += text();
                        return out;
                      });
    epochs("files of 110 KB", small, copying);
  }
  {
    lazy_source tokens(
        raw::options{.format = "tokens", .shard_bytes = 16_MiB, .window = 1025, .stride = 1024},
        std::size_t{1}, ".bin", [&] {
          constexpr std::int32_t count = 100 << 20;
          std::string out(1024, '\0');
          const std::int32_t head[] = {20240520, 1, count};
          std::memcpy(out.data(), head, sizeof head);
          out.reserve(1024 + 2 * std::size_t{count});
          while (out.size() < 1024 + 2 * std::size_t{count}) {
            const std::uint64_t four = random() * std::uint64_t{0x100000001};
            out.append(reinterpret_cast<const char*>(&four), sizeof four);
          }
          return out;
        });
    epochs("token windows", tokens, in_place, in_place);
    windows(tokens, 1025);
  }
}
