#include <mdstream/launch/environment.hpp>
#include <mdstream/policies.hpp>

#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

// A program that brings all of its policies itself, each of them the least that its concept asks
// for: it writes, and streams what it wrote.

namespace mds = mdstream;

namespace own_policies {

/// Objects on a shelf that lives as long as the program; opened by its URL. As every store, for any
/// number of threads.
class shelf_store {
 public:
  static bool serves(std::string_view url) { return url.starts_with("shelf://"); }
  static shelf_store open(std::string_view url) { return shelf_store(std::string(url.substr(8))); }

  [[nodiscard]] std::uint64_t size(std::string_view key) const { return at(key).size(); }
  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    const std::string object = at(key);
    const std::size_t count = std::min<std::size_t>(into.size(), object.size() - offset);
    std::memcpy(into.data(), object.data() + offset, count);
    return count;
  }
  void write(std::string_view key, mds::bytes_view bytes) const {
    const std::lock_guard lock(door());
    shelf()[path(key)] = std::string(mds::as_text(bytes));
  }
  [[nodiscard]] std::vector<mds::object_info> list(std::string_view prefix) const {
    std::vector<mds::object_info> found;
    const std::lock_guard lock(door());
    for (const auto& [name, object] : shelf())
      if (name.starts_with(path(prefix)))
        found.push_back({.key = name.substr(root_.size() + 1), .bytes = object.size()});
    return found;
  }
  void remove(std::string_view key) const {
    const std::lock_guard lock(door());
    shelf().erase(path(key));
  }
  [[nodiscard]] std::string url(std::string_view key) const { return "shelf://" + path(key); }

 private:
  explicit shelf_store(std::string root) : root_(std::move(root)) {}
  static std::map<std::string, std::string>& shelf() {
    static std::map<std::string, std::string> objects;
    return objects;
  }
  static std::mutex& door() {
    static std::mutex lock;
    return lock;
  }
  [[nodiscard]] std::string path(std::string_view key) const {
    return root_ + '/' + std::string(key);
  }
  [[nodiscard]] std::string at(std::string_view key) const {
    const std::lock_guard lock(door());
    const auto found = shelf().find(path(key));
    if (found == shelf().end()) throw mds::error(mds::errc::not_found, "not on the shelf");
    return found->second;
  }
  std::string root_;
};
static_assert(mds::openable_store<shelf_store>);

/// Turns every bit over.
struct flip_codec {
  static bool serves(std::string_view name) { return name == "flip" || name.empty(); }
  static flip_codec open(std::string_view) { return {}; }
  static std::string_view extension() { return "flip"; }
  static std::vector<std::byte> compress(mds::bytes_view raw) {
    std::vector<std::byte> out(raw.begin(), raw.end());
    for (std::byte& b : out) b = ~b;
    return out;
  }
  static std::error_code decompress(mds::bytes_view zip, mds::mutable_bytes raw,
                                    mds::diagnostics& where) {
    if (zip.size() != raw.size()) {
      where.what = "another size";
      return mds::errc::corrupt;
    }
    std::ranges::transform(zip, raw.begin(), [](std::byte b) { return ~b; });
    return {};
  }
};
static_assert(mds::codec_policy<flip_codec>);

/// The number of bytes.
struct length_hash {
  static bool serves(std::string_view name) { return name == "xxh32"; }
  static length_hash open(std::string_view) { return {}; }
  void update(mds::bytes_view bytes) { length += static_cast<std::uint32_t>(bytes.size()); }
  [[nodiscard]] std::string hex() const {
    std::byte digest[4];
    for (int i = 0; i < 4; ++i) digest[i] = static_cast<std::byte>(length >> (24 - 8 * i));
    return mds::detail::to_hex(digest);
  }
  std::uint32_t length = 0;
};
static_assert(mds::hash_policy<length_hash>);

/// Last sample first.
struct backwards {
  class sequence {
   public:
    explicit sequence(const mds::shuffle_task& task) : units_(task.units) {}
    [[nodiscard]] std::uint64_t size() const { return units_.size(); }
    void read(std::uint64_t first, std::span<std::int64_t> out) const {
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::uint64_t position = units_.size() - 1 - first - i;
        const std::size_t unit = units_.unit_of(position);
        units_.fill(unit, position - units_.begin(unit), out.subspan(i, 1));
      }
    }

   private:
    mds::shuffle_units units_;
  };
  [[nodiscard]] static std::string_view name() { return "backwards"; }
  [[nodiscard]] static sequence open(const mds::shuffle_task& task) { return sequence(task); }
};
static_assert(mds::shuffler<backwards>);

/// The dense layout, its columns in the other order.
struct last_column_first {
  static constexpr std::string_view name = "last column first";
  static constexpr bool accepts(const mds::collate::source_column& column) {
    return column.value_bytes != 0;
  }
  static std::uint64_t lay_out(std::span<const mds::collate::source_column> sources,
                               std::span<const mds::collate::detail::column_measure> measures,
                               std::uint64_t, std::vector<mds::collate::output_column>& outputs) {
    outputs.resize(sources.size());
    std::uint64_t end = 0;
    for (std::size_t k = sources.size(); k-- > 0;) {
      outputs[k] = {.source = static_cast<std::uint32_t>(k),
                    .values_at = end,
                    .values_bytes = measures[k].total};
      end = mds::collate::align_up(end + measures[k].total);
    }
    return end;
  }
};
static_assert(mds::collate::collator<last_column_first>);

/// A vector for every batch.
struct vector_stager {
  static constexpr std::string_view name = "vectors";
  struct slot {
    std::shared_ptr<std::vector<std::byte>> memory;
    [[nodiscard]] const std::byte* data() const { return memory->data(); }
    void ready_on(mds::stage::stream_handle) {}
  };
  slot stage(const mds::collate::collate_plan& plan) {
    slot out{std::make_shared<std::vector<std::byte>>(plan.slab_bytes)};
    mds::collate::execute(plan, out.memory->data());
    return out;
  }
};
static_assert(mds::stage::stager<vector_stager>);

using policies =
    mds::policies<mds::schema<mds::column<"square", double>, mds::column<"number", std::int32_t>>,
                  shelf_store, flip_codec, length_hash, backwards, last_column_first,
                  vector_stager>;

// The order of the list means nothing, and what it does not name is the default.
template <class A, class B>
inline constexpr bool same_policies = std::same_as<typename A::schema, typename B::schema> &&
                                      std::same_as<typename A::store, typename B::store> &&
                                      std::same_as<typename A::codec, typename B::codec> &&
                                      std::same_as<typename A::format, typename B::format> &&
                                      std::same_as<typename A::hash, typename B::hash> &&
                                      std::same_as<typename A::shuffler, typename B::shuffler> &&
                                      std::same_as<typename A::collator, typename B::collator> &&
                                      std::same_as<typename A::stager, typename B::stager> &&
                                      std::same_as<typename A::transform, typename B::transform> &&
                                      std::same_as<typename A::observer, typename B::observer>;
static_assert(
    same_policies<policies, mds::policies<vector_stager, length_hash, last_column_first,
                                          shelf_store, backwards, flip_codec, policies::schema>>);
static_assert(
    same_policies<mds::policies<>,
                  mds::policies<mds::observe::none, mds::transform::none, mds::stage::host,
                                mds::collate::ragged, mds::shuffle::any, mds::any_hash<>,
                                mds::no_formats, mds::any_codec<mds::codec::none>,
                                mds::any_store<mds::store::local>, mds::dynamic_schema>>);
static_assert(std::same_as<policies::store, shelf_store>);
static_assert(std::same_as<policies::codec, flip_codec>);
static_assert(std::same_as<policies::transform, mds::transform::none>);

using replaced = policies::with<mds::collate::dense, mds::codec::none>;
static_assert(std::same_as<replaced::collator, mds::collate::dense>);
static_assert(std::same_as<replaced::codec, mds::codec::none>);
static_assert(std::same_as<replaced::shuffler, backwards>);
static_assert(same_policies<replaced::with<last_column_first, flip_codec>, policies>);

}  // namespace own_policies

TEST_CASE("a program may bring every policy itself") {
  const scratch_directory::scratch dir;
  mds::writer<own_policies::policies> out(
      {.out = "shelf://numbers", .compression = "flip", .hashes = {"xxh32"}, .size_limit = 600});
  for (std::int32_t i = 0; i < 100; ++i) out.write(0.5 * i * i, i);
  out.finish();
  CHECK(out.shards() > 1);

  mds::loader<own_policies::policies> loader({.remote = "shelf://numbers",
                                              .local = dir / "cache",
                                              .batch_size = 7,
                                              .world = mds::world{},
                                              .validate_hash = "xxh32"});
  std::int32_t expected = 99;
  for (const auto& batch : loader.epoch()) {
    const auto numbers = batch.get<"number">();
    const auto squares = batch.get<"square">();
    CHECK(squares.data() < static_cast<const void*>(numbers.data()));
    for (std::size_t i = 0; i < batch.size(); ++i, --expected) {
      CHECK(numbers[i] == expected);
      CHECK(squares[i] == 0.5 * expected * expected);
    }
  }
  support::expect_error([&] { static_cast<void>(loader.python_state()); }, mds::errc::unsupported,
                        {"backwards"});
  CHECK(expected <= -1);
  CHECK(expected >= -7);  // the reference fills the last batch of an epoch up with repeats
}
