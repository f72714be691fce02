#pragma once

/// Brings one shard from its remote, or from the compressed file beside it, into a temporary file:
/// download, check, decompress, try again.

#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/detail/catalog.hpp>
#include <mdstream/cache/detail/choose_hash.hpp>
#include <mdstream/cache/detail/shard_maker.hpp>
#include <mdstream/cache/detail/temporary_file.hpp>
#include <mdstream/codec/detail/codec_set.hpp>
#include <mdstream/core/detail/pages.hpp>
#include <mdstream/hash/detail/hash_set.hpp>
#include <mdstream/schedule/detail/retry_budget.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/blocking.hpp>
#include <mdstream/store/detail/bounded_calls.hpp>
#include <mdstream/store/detail/ranged_read.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>
#include <mdstream/store/opened_store.hpp>
#include <mdstream/store/store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

/// How a stream's shards are fetched.
struct fetch_rules {
  std::string prefix{};  ///< put before the keys in the remote
  /// Name of the hash to check; empty: the cheapest that the index records; `no_hash`: none.
  std::string validate_hash{};
  bool keep_zip = false;
  retry_policy retry{};  ///< fetches anew what came with wrong content
  std::uint64_t ranged_from = std::uint64_t{32} << 20;  ///< bytes; smaller objects come in one read
  std::size_t range_bytes = ranged_read_options{}.range_bytes;
  retry_policy requests = patient_requests(default_patience, 4);  ///< repeats single requests
  /// For all requests of the stream.
  shared_retry_budget budget{retry_budget::of_many()};
  /// A request that brings nothing for so long is given up, and repeated.
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
  std::shared_ptr<detail::call_gate> gate{};  ///< of the stream's store

  /// Whether a file that has no such hash is refused.
  [[nodiscard]] bool names_hash() const noexcept {
    return !validate_hash.empty() && validate_hash != no_hash;
  }

  /// The stream's remote for the requests of one fetch.
  [[nodiscard]] detail::bounded_calls calls(runtime& threads, const any_async_store& remote,
                                            std::shared_ptr<const detail::call_place> place) const;
};

/// A fetched shard, complete and checked, that has not got its names yet.
struct fetched_shard {
  temporary_file raw;
  std::optional<temporary_file> zip{};  ///< where the compressed file is to be kept
  std::uint64_t bytes_fetched = 0;
  std::unique_ptr<fetched_shard> meta{};  ///< the file beside it, where it has one
};

/// One fetch in progress. Made by `start`, it keeps itself alive until it has called `done` on a
/// pool thread. What `start` was given by reference stays until then.
class shard_fetch : public std::enable_shared_from_this<shard_fetch> {
  struct access {};

 public:
  struct request {
    const any_async_store* remote = nullptr;  ///< null: only the zip file beside it can serve
    const fetch_rules* rules = nullptr;
    detail::codec_set codecs;
    detail::hash_set hashes;
    shard_file files{};
    const shard_maker* maker = nullptr;             ///< of streams whose shards are made here
    std::uint32_t number = 0;                       ///< of the shard in its stream, for the maker
    std::string directory{};                        ///< of the shard
    std::function<std::string()> temporary_name{};  ///< a new path on the same file system
    std::function<void(const std::string&)> discard{};  ///< deletes a damaged compressed file
    std::function<void()> on_failed_attempt{};
    std::shared_ptr<const detail::call_place> place{};  ///< of its requests
  };
  using handler = unique_function<void(std::error_code, std::optional<fetched_shard>)>;

  shard_fetch(access, runtime& threads, request what, std::stop_token stop, diagnostics& where,
              handler done);

  /// Begins on the pool. A requested stop ends the fetch soon, with `errc::canceled`.
  static void start(runtime& threads, request what, std::stop_token stop, diagnostics& where,
                    handler done);

 private:
  [[nodiscard]] std::string path(std::string_view name) const {
    return request_.directory + '/' + std::string(name);
  }

  /// Runs a step; what it throws ends the attempt.
  template <class Step>
  void guarded(Step step) {
    try {
      step();
    } catch (...) {
      const std::error_code code = detail::describe_failure(
          std::current_exception(), where_, [this] { return path(request_.files.raw_name); });
      failed(code);
    }
  }

  void attempt();

  void check_rules() const;

  /// Decompresses the compressed file that lies beside; false when there is none that is right.
  bool use_local_zip();

  /// What a store hands out as it comes is written to the file, other stores read into its mapping.
  void download_raw();

  /// Reads what a shard is made of, makes it, and seals its file. The size is known only when it is
  /// made: a full disk is met after the fetch.
  void make();
  void read_parts();
  void put_made();

  /// A new temporary file, as memory to write to.
  [[nodiscard]] mutable_bytes make_mapped(std::optional<temporary_file>& file, std::uint64_t size);

  /// The file that the compressed one is unzipped into.
  void reserve_raw();

  void download_zip();

  /// Reads the object `name` of `size` bytes, then runs `use` on the pool. Memory has one byte to
  /// spare, in which a longer object shows.
  template <class Use>
  void download(std::string_view name, std::uint64_t size, ranged_target into, Use use) {
    if (request_.remote == nullptr) {
      throw error(errc::not_found, {.what = "the shard is not there, and its stream has no remote",
                                    .url = path(request_.files.raw_name)});
    }
    const std::string key = join_key(request_.rules->prefix, name);
    read_object(key, size, std::move(into),
                [self = shared_from_this(), key, size, use = std::move(use)](
                    std::error_code code, std::uint64_t got) mutable {
                  self->threads_.post([self, key = std::move(key), size, use = std::move(use), code,
                                       got]() mutable {
                    self->guarded([&] {
                      const std::string url = self->request_.remote->url(key);
                      if (code) self->fail_download(code);
                      self->fetched_ += got;
                      if (got != size) fail_size(url, got, size);
                      use(url);
                      self->finish();
                    });
                  });
                });
  }

  /// A large object comes in parallel ranges of one version, a small one in one read, which goes on
  /// behind its last byte where it broke off and asks for one byte more than there should be: a
  /// longer object shows in the count.
  void read_object(const std::string& key, std::uint64_t size, ranged_target into,
                   store_handler<std::uint64_t> done);

  [[noreturn]] void fail_download(std::error_code code) const;

  [[noreturn]] static void fail_size(const std::string& url, std::uint64_t got,
                                     std::uint64_t expected);

  void check_hash(bytes_view bytes, const known_digest& expected, const std::string& url) const;

  void unzip(bytes_view zip, const std::string& url);

  /// Nothing takes memory of a whole shard beside the file.
  [[nodiscard]] std::error_code unzip_with(const detail::opened_codec& codec, bytes_view zip,
                                           diagnostics& where);

  void finish();

  /// Fetches anew after a pause, or gives up. What may pass was waited for request by request.
  void failed(std::error_code code);

  runtime& threads_;
  request request_;
  std::stop_token stop_;
  diagnostics& where_;
  handler done_;
  std::optional<temporary_file> raw_;
  std::optional<temporary_file> zip_file_;
  pages zip_;
  std::unique_ptr<shard_making> making_;
  std::uint64_t fetched_ = 0;
  unsigned failed_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/shard_fetch.ipp>
#endif
