#pragma once

/// Where and how a writer writes.

#include <mdstream/core/sizes.hpp>
#include <mdstream/format/sample_layout.hpp>
#include <mdstream/store/store.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace mdstream::inline v0 {

/// A place for a dataset: a path or URL that `Store` opens, or a store as a value.
template <object_store Store>
class store_target {
 public:
  store_target() = default;
  store_target(std::string url) : place_(std::move(url)) {}
  store_target(std::string_view url) : place_(std::string(url)) {}
  store_target(const char* url) : place_(std::string(url)) {}
  template <class S>
    requires(!std::same_as<std::remove_cvref_t<S>, store_target>) &&
            object_store<std::remove_cvref_t<S>> && std::convertible_to<S&&, Store>
  store_target(S&& store) : place_(std::in_place_type<Store>, std::forward<S>(store)) {}

  /// Opens the store. Throws errc::invalid_argument for an empty URL, or if `Store` opens no URLs.
  [[nodiscard]] Store open() && {
    if (Store* store = std::get_if<Store>(&place_)) return std::move(*store);
    const std::string& url = std::get<std::string>(place_);
    if (url.empty()) throw error(errc::invalid_argument, "no path, URL or store is given");
    if constexpr (requires { Store::open(std::string_view(url)); })
      return Store::open(std::string_view(url));
    else
      throw error(errc::invalid_argument,
                  diagnostics{.what = "this store opens no URLs: pass it as a value", .url = url});
  }

 private:
  std::variant<std::string, Store> place_;
};

/// Options of a writer; the names and defaults are those of Python's MDSWriter.
template <object_store Store>
struct writer_options {
  /// The directory of the dataset. For a split, `<root>/<split>`.
  store_target<Store> out{};
  /// Names and encodings, in any order. Only where the policies' schema is `dynamic_schema`.
  std::vector<column_spec> columns{};
  /// "zstd", "zstd:7", ...; empty: shards are stored as they are.
  std::string compression{};
  /// Names of hashes to keep in the index, sorted: {"sha1", "xxh64"}.
  std::vector<std::string> hashes{};
  /// Bytes that a raw shard may have; 0: no limit. A larger sample gets a shard of its own.
  byte_size size_limit{std::uint64_t{1} << 26};
  /// Threads that hash, compress and store finished shards while the next is written; 0: the
  /// calling thread does. Each holds a shard in memory. The output does not depend on it.
  unsigned max_workers = 2;
  /// Replace a dataset that is there: its index goes first, then its shards. Otherwise a dataset
  /// that is there is an error.
  bool exist_ok = false;
};

}  // namespace mdstream::inline v0
