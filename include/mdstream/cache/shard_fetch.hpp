#pragma once

/// Brings one shard from its remote, or from the compressed file beside it, into a temporary file:
/// download, check, decompress, try again.

#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/catalog.hpp>
#include <mdstream/cache/choose_hash.hpp>
#include <mdstream/cache/mapping.hpp>
#include <mdstream/cache/temporary_file.hpp>
#include <mdstream/codec/codec.hpp>
#include <mdstream/core/detail/chance.hpp>
#include <mdstream/core/pages.hpp>
#include <mdstream/hash/choice.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/schedule/retry_budget.hpp>
#include <mdstream/store/blocking.hpp>
#include <mdstream/store/detail/bounded_calls.hpp>
#include <mdstream/store/ranged_read.hpp>
#include <mdstream/store/retrying.hpp>
#include <mdstream/store/shared_retry_budget.hpp>
#include <mdstream/store/store.hpp>
#include <mdstream/store/streamed_read.hpp>

#include <algorithm>
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

namespace mdstream::inline v0 {

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
  std::shared_ptr<detail::store_gate> gate{};  ///< of the stream's store

  /// Whether a file that has no such hash is refused.
  [[nodiscard]] bool names_hash() const noexcept {
    return !validate_hash.empty() && validate_hash != no_hash;
  }

  /// The stream's remote for the requests of one fetch.
  template <async_store Remote>
  [[nodiscard]] auto calls(runtime& threads, std::shared_ptr<const Remote> remote,
                           std::shared_ptr<const detail::call_place> place) const {
    return detail::bounded_calls(threads, any_async_store(detail::shared_async<Remote>(remote)),
                                 gate ? gate : detail::make_gate(threads, *remote), timeout,
                                 std::move(place));
  }
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
template <async_store Remote, codec_policy Codec, hash_policy Hash>
class shard_fetch : public std::enable_shared_from_this<shard_fetch<Remote, Codec, Hash>> {
  struct access {};

 public:
  struct request {
    const Remote* remote = nullptr;  ///< null: only the compressed file beside it can serve
    const fetch_rules* rules = nullptr;
    shard_file files{};
    std::string directory{};                            ///< of the shard
    std::function<std::string()> temporary_name{};      ///< a new path on the same file system
    std::function<void(const std::string&)> discard{};  ///< deletes a damaged compressed file
    std::function<void()> on_failed_attempt{};
    std::shared_ptr<const detail::call_place> place{};  ///< of its requests
  };
  using handler = unique_function<void(std::error_code, std::optional<fetched_shard>)>;

  shard_fetch(access, runtime& threads, request what, std::stop_token stop, diagnostics& where,
              handler done)
      : threads_(threads),
        request_(std::move(what)),
        stop_(std::move(stop)),
        where_(where),
        done_(std::move(done)) {}

  /// Begins on the pool. A requested stop ends the fetch soon, with `errc::canceled`.
  static void start(runtime& threads, request what, std::stop_token stop, diagnostics& where,
                    handler done) {
    auto fetch = std::make_shared<shard_fetch>(access{}, threads, std::move(what), std::move(stop),
                                               where, std::move(done));
    threads.post([fetch] { fetch->attempt(); });
  }

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
      const std::error_code code =
          detail::describe_failure(std::current_exception(), where_, path(request_.files.raw_name));
      failed(code);
    }
  }

  void attempt() {
    where_ = {};
    raw_.reset();
    zip_file_.reset();
    guarded([this] {
      if (stop_.stop_requested()) throw error(errc::canceled, "the fetch was cancelled");
      check_rules();
      if (!request_.files.zipped()) return download_raw();
      if (use_local_zip()) return;
      download_zip();
    });
  }

  void check_rules() const {
    const shard_file& files = request_.files;
    if (!request_.rules->names_hash()) return;
    if ((files.zipped() ? files.zip_digest : files.raw_digest).empty()) {
      throw error(
          errc::invalid_argument,
          {.what = "the index records no " + request_.rules->validate_hash + " hash to validate",
           .url = path(files.zipped() ? files.zip_name : files.raw_name)});
    }
  }

  /// Decompresses the compressed file that lies beside; false when there is none that is right.
  bool use_local_zip() {
    const std::string zip_path = path(request_.files.zip_name);
    const unique_fd fd = detail::try_open(zip_path, O_RDONLY);
    if (!fd) return false;
    const std::uint64_t size = detail::file_size(fd.get(), zip_path);
    try {
      if (size != request_.files.zip_bytes) fail_size(zip_path, size, request_.files.zip_bytes);
      const file_mapping zip = file_mapping::of(fd.get(), static_cast<std::size_t>(size), zip_path);
      unzip(zip.bytes(), zip_path);
    } catch (const error& e) {
      if (e.code() != errc::corrupt || request_.remote == nullptr) throw;
      request_.discard(zip_path);  // the remote has it
      return false;
    }
    finish();
    return true;
  }

  /// What a store hands out as it comes is written to the file, other stores read into its mapping.
  void download_raw() {
    const std::uint64_t size = request_.files.raw_bytes;
    const bool streamed = request_.remote != nullptr && can_stream(*request_.remote) && size != 0;
    ranged_target into;
    if (streamed) {
      raw_.emplace(request_.temporary_name(), static_cast<std::size_t>(size));
      into = {.put = [this](std::uint64_t offset, bytes_view bytes) { raw_->put(offset, bytes); },
              .bytes = size};
    } else {
      into = ranged_target::memory(make_mapped(raw_, size + 1));
    }
    download(request_.files.raw_name, size, std::move(into), [this, size](const std::string& url) {
      raw_->shrink(static_cast<std::size_t>(size));
      if (!request_.files.raw_digest.empty())
        check_hash(raw_->view(), request_.files.raw_digest, url);
    });
  }

  /// A new temporary file, as memory to write to.
  [[nodiscard]] mutable_bytes make_mapped(std::optional<temporary_file>& file, std::uint64_t size) {
    auto [made, bytes] =
        temporary_file::mapped(request_.temporary_name(), static_cast<std::size_t>(size));
    file.emplace(std::move(made));
    return bytes;
  }

  void download_zip() {
    const std::size_t room = static_cast<std::size_t>(request_.files.zip_bytes) + 1;
    mutable_bytes into;
    if (request_.rules->keep_zip) {
      into = make_mapped(zip_file_, room);
    } else {
      if (zip_.data() == nullptr) zip_ = pages(room);
      into = {zip_.data(), room};
    }
    download(request_.files.zip_name, request_.files.zip_bytes, ranged_target::memory(into),
             [this, into](const std::string& url) {
               if (zip_file_) {
                 zip_file_->shrink(static_cast<std::size_t>(request_.files.zip_bytes));
               }
               unzip(into.first(static_cast<std::size_t>(request_.files.zip_bytes)), url);
             });
  }

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
                [self = this->shared_from_this(), key, size, use = std::move(use)](
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
  /// behind its last byte where it broke off.
  void read_object(const std::string& key, std::uint64_t size, ranged_target into,
                   store_handler<std::uint64_t> done) {
    const fetch_rules& rules = *request_.rules;
    const std::shared_ptr<const Remote> remote(this->shared_from_this(), request_.remote);
    auto calls = rules.calls(threads_, remote, request_.place);
    if (size < rules.ranged_from) {
      if (can_stream(*remote))
        return stream_object(std::move(calls), key, size, std::move(into), std::move(done));
      return retrying(threads_, std::move(calls), rules.requests, rules.budget)
          .async_read(key, 0, into.into, stop_, where_, std::move(done));
    }
    retrying(threads_, calls, rules.requests, rules.budget)
        .async_version(
            key, stop_, where_,
            [self = this->shared_from_this(), calls, key, size, into = std::move(into),
             done = std::move(done)](std::error_code code, object_version found) mutable {
              if (code || found.bytes != size) return done(code, found.bytes);
              if (!into.put)
                into = ranged_target::memory(into.into.first(static_cast<std::size_t>(size)));
              const fetch_rules& how = *self->request_.rules;
              async_read_ranges(
                  self->threads_, std::move(calls), key, std::move(found), std::move(into),
                  {.range_bytes = how.range_bytes, .retry = how.requests, .budget = how.budget},
                  self->stop_, self->where_,
                  [size, done = std::move(done)](std::error_code failure) mutable {
                    done(failure, failure ? 0 : size);
                  });
            });
  }

  /// Asks for one byte more than there should be: a longer object shows in the count.
  void stream_object(detail::bounded_calls calls, const std::string& key, std::uint64_t size,
                     ranged_target into, store_handler<std::uint64_t> done) {
    if (!into.put) {
      into.put = [to = into.into](std::uint64_t at, bytes_view bytes) {
        std::ranges::copy(bytes, to.begin() + static_cast<std::ptrdiff_t>(at));
      };
    }
    const auto came = std::make_shared<std::uint64_t>(0);
    async_stream_resumed(
        threads_, std::move(calls), key, size + 1,
        [came, size, put = std::move(into.put)](const object_version&, bytes_view bytes) {
          const std::uint64_t room = size - std::min(*came, size);
          put(*came,
              bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size()))));
          *came += bytes.size();
        },
        request_.rules->requests, request_.rules->budget, stop_, where_,
        [came, done = std::move(done)](std::error_code code, const object_version&) mutable {
          done(code, *came);
        });
  }

  [[noreturn]] void fail_download(std::error_code code) const {
    if (stop_.stop_requested()) throw error(errc::canceled, "the fetch was cancelled");
    throw error(code, where_);
  }

  [[noreturn]] static void fail_size(const std::string& url, std::uint64_t got,
                                     std::uint64_t expected) {
    throw error(errc::corrupt,
                {.what = got > expected ? "has more bytes than the " + std::to_string(expected) +
                                              " that the index says"
                                        : "has " + std::to_string(got) + " bytes, the index says " +
                                              std::to_string(expected),
                 .url = url});
  }

  static void check_hash(bytes_view bytes, const known_digest& expected, const std::string& url) {
    const std::string found = hash_of<Hash>(expected.hash, bytes);
    if (found == expected.hex) return;
    throw error(errc::corrupt, {.what = "the " + expected.hash + " hash is " + found +
                                        ", the index says " + expected.hex,
                                .url = url});
  }

  void unzip(bytes_view zip, const std::string& url) {
    if (!request_.files.zip_digest.empty()) check_hash(zip, request_.files.zip_digest, url);
    diagnostics where{.url = url};
    const std::error_code code =
        with_codec(Codec::open(request_.files.compression),
                   [&](const auto& codec) { return unzip_with(codec, zip, where); });
    if (code) {
      if (where.url.empty()) where.url = url;
      throw error(code, std::move(where));
    }
    if (request_.files.zip_digest.empty() && !request_.files.raw_digest.empty())
      check_hash(raw_->view(), request_.files.raw_digest, url);
  }

  /// Nothing takes memory of a whole shard beside the file.
  template <class Chosen>
  [[nodiscard]] std::error_code unzip_with(const Chosen& codec, bytes_view zip,
                                           diagnostics& where) {
    const auto size = static_cast<std::size_t>(request_.files.raw_bytes);
    if constexpr (block_codec<Chosen>) {
      raw_.emplace(request_.temporary_name(), size);
      std::uint64_t at = 0;
      return codec.decompress_blocks(
          zip, size,
          [this, &at](bytes_view block) {
            raw_->put(at, block);
            at += block.size();
          },
          where);
    } else {
      return codec.decompress(zip, make_mapped(raw_, size), where);
    }
  }

  void finish() {
    fetched_shard result{
        .raw = std::move(*raw_), .zip = std::move(zip_file_), .bytes_fetched = fetched_};
    raw_.reset();
    zip_ = {};
    done_({}, std::move(result));
  }

  /// Fetches anew after a pause, or gives up. What may pass was waited for request by request.
  void failed(std::error_code code) {
    raw_.reset();
    zip_file_.reset();
    if (request_.on_failed_attempt && code != errc::canceled) request_.on_failed_attempt();
    ++failed_;
    const std::optional<std::chrono::nanoseconds> pause =
        request_.remote == nullptr || (where_.is_final && is_transient(code))
            ? std::nullopt
            : pause_before_retry(request_.rules->retry, failed_, code, detail::chance(),
                                 where_.retry_after);
    if (!pause) return done_(code, std::nullopt);
    threads_.after(*pause, stop_, [self = this->shared_from_this()](std::error_code) {
      self->threads_.post([self] { self->attempt(); });
    });
  }

  runtime& threads_;
  request request_;
  std::stop_token stop_;
  diagnostics& where_;
  handler done_;
  std::optional<temporary_file> raw_;
  std::optional<temporary_file> zip_file_;
  pages zip_;
  std::uint64_t fetched_ = 0;
  unsigned failed_ = 0;
};

}  // namespace mdstream::inline v0
