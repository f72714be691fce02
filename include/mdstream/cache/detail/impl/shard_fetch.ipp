#pragma once

#include <mdstream/cache/detail/mapping.hpp>
#include <mdstream/cache/detail/object_reads.hpp>
#include <mdstream/cache/detail/shard_fetch.hpp>
#include <mdstream/cache/detail/shard_seal.hpp>
#include <mdstream/core/detail/chance.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/store/detail/streamed_read.hpp>
#include <mdstream/store/retrying.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <optional>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE detail::bounded_calls fetch_rules::calls(
    runtime& threads, const any_async_store& remote,
    std::shared_ptr<const detail::call_place> place) const {
  return {threads, remote, gate ? gate : detail::make_gate(threads, remote), timeout,
          std::move(place)};
}

MDSTREAM_INLINE shard_fetch::shard_fetch(access, runtime& threads, request what,
                                         std::stop_token stop, diagnostics& where, handler done)
    : threads_(threads),
      request_(std::move(what)),
      stop_(std::move(stop)),
      where_(where),
      done_(std::move(done)) {}

MDSTREAM_INLINE void shard_fetch::start(runtime& threads, request what, std::stop_token stop,
                                        diagnostics& where, handler done) {
  auto fetch = std::make_shared<shard_fetch>(access{}, threads, std::move(what), std::move(stop),
                                             where, std::move(done));
  threads.post([fetch] { fetch->attempt(); });
}

MDSTREAM_INLINE void shard_fetch::attempt() {
  where_ = {};
  raw_.reset();
  zip_file_.reset();
  making_.reset();
  guarded([this] {
    if (stop_.stop_requested()) throw error(errc::canceled, "the fetch was cancelled");
    if (request_.maker != nullptr) return make();
    check_rules();
    if (!request_.files.zipped()) return download_raw();
    if (use_local_zip()) return;
    download_zip();
  });
}

MDSTREAM_INLINE void shard_fetch::check_rules() const {
  const shard_file& files = request_.files;
  if (!request_.rules->names_hash()) return;
  if ((files.zipped() ? files.zip_digest : files.raw_digest).empty()) {
    throw error(
        errc::invalid_argument,
        {.what = "the index records no " + request_.rules->validate_hash + " hash to validate",
         .url = path(files.zipped() ? files.zip_name : files.raw_name)});
  }
}

MDSTREAM_INLINE bool shard_fetch::use_local_zip() {
  const std::string zip_path = path(request_.files.zip_name);
  const unique_fd fd = detail::open_if_there(zip_path, O_RDONLY);
  if (!fd) return false;
  const std::uint64_t size = detail::file_size(fd.get(), zip_path);
  try {
    if (size != request_.files.zip_bytes) fail_size(zip_path, size, request_.files.zip_bytes);
    reserve_raw();
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

MDSTREAM_INLINE void shard_fetch::download_raw() {
  const std::uint64_t size = request_.files.raw_bytes;
  const bool streamed = request_.remote != nullptr && request_.remote->streams() && size != 0;
  ranged_target into;
  if (streamed) {
    raw_.emplace(request_.temporary_name(), static_cast<std::size_t>(size));
    into = {.put = [this](std::uint64_t offset, bytes_view bytes) { raw_->put(offset, bytes); },
            .bytes = size};
  } else {
    into = ranged_target::memory(make_mapped(raw_, size + 1));
  }
  download(request_.files.raw_name, size, std::move(into), [this, size](const std::string& url) {
    raw_->resize(static_cast<std::size_t>(size));
    if (!request_.files.raw_digest.empty())
      check_hash(raw_->view(), request_.files.raw_digest, url);
  });
}

MDSTREAM_INLINE void shard_fetch::make() {
  making_ = request_.maker->begin(request_.number);
  read_parts();
}

MDSTREAM_INLINE void shard_fetch::read_parts() {
  std::vector<object_range> wanted = making_->next();
  if (wanted.empty()) {
    put_made();
    return finish();
  }
  const fetch_rules& rules = *request_.rules;
  for (object_range& each : wanted) each.key = join_key(rules.prefix, each.key);
  detail::object_reads::start(
      threads_, rules.calls(threads_, *request_.remote, request_.place), *making_,
      std::move(wanted),
      {.range_bytes = rules.range_bytes, .requests = rules.requests, .budget = rules.budget}, stop_,
      where_, [self = shared_from_this()](std::error_code code, std::vector<part_of_pages> bytes) {
        self->threads_.post([self, code, bytes = std::move(bytes)]() mutable {
          if (code) return self->failed(code);
          self->guarded([&] {
            for (const part_of_pages& each : bytes) self->fetched_ += each.size();
            self->making_->take(std::move(bytes));
            self->read_parts();
          });
        });
      });
}

MDSTREAM_INLINE void shard_fetch::put_made() {
  raw_.emplace(request_.temporary_name(), static_cast<std::size_t>(request_.files.raw_bytes));
  std::uint32_t sum = 0;
  std::size_t size = 0;
  making_->finish([&](std::uint64_t offset, bytes_view bytes) {
    const std::uint32_t of_these = crc32c(bytes, offset == 0 ? 0 : sum);
    sum = offset == 0 ? crc32c_joined(of_these, sum, size) : of_these;
    size += bytes.size();
    raw_->put(offset, bytes);
  });
  raw_->put(size, detail::seal_of(size, sum));
  raw_->resize(size + detail::seal_bytes);
}

MDSTREAM_INLINE mutable_bytes shard_fetch::make_mapped(std::optional<temporary_file>& file,
                                                       std::uint64_t size) {
  file.emplace(request_.temporary_name(), static_cast<std::size_t>(size));
  return file->memory();
}

MDSTREAM_INLINE void shard_fetch::reserve_raw() {
  raw_.emplace(request_.temporary_name(), static_cast<std::size_t>(request_.files.raw_bytes));
}

MDSTREAM_INLINE void shard_fetch::download_zip() {
  reserve_raw();  // a full disk is met before anything is fetched
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
               zip_file_->resize(static_cast<std::size_t>(request_.files.zip_bytes));
             }
             unzip(into.first(static_cast<std::size_t>(request_.files.zip_bytes)), url);
           });
}

MDSTREAM_INLINE void shard_fetch::read_object(const std::string& key, std::uint64_t size,
                                              ranged_target into,
                                              store_handler<std::uint64_t> done) {
  const fetch_rules& rules = *request_.rules;
  auto calls = rules.calls(threads_, *request_.remote, request_.place);
  if (size < rules.ranged_from) {
    return async_read_whole(threads_, std::move(calls), key, size + 1, std::move(into),
                            std::nullopt, rules.requests, rules.budget, stop_, where_,
                            std::move(done));
  }
  retrying(threads_, calls, rules.requests, rules.budget)
      .async_version(
          key, stop_, where_,
          [self = shared_from_this(), calls, key, size, into = std::move(into),
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

MDSTREAM_INLINE void shard_fetch::fail_download(std::error_code code) const {
  if (stop_.stop_requested()) throw error(errc::canceled, "the fetch was cancelled");
  throw error(code, where_);
}

MDSTREAM_INLINE void shard_fetch::fail_size(const std::string& url, std::uint64_t got,
                                            std::uint64_t expected) {
  throw error(errc::corrupt,
              {.what = got > expected ? "has more bytes than the " + std::to_string(expected) +
                                            " that the index says"
                                      : "has " + std::to_string(got) + " bytes, the index says " +
                                            std::to_string(expected),
               .url = url});
}

MDSTREAM_INLINE void shard_fetch::check_hash(bytes_view bytes, const known_digest& expected,
                                             const std::string& url) const {
  const std::string found = request_.hashes.hex_of(expected.hash, bytes);
  if (found == expected.hex) return;
  throw error(errc::corrupt, {.what = "the " + expected.hash + " hash is " + found +
                                      ", the index says " + expected.hex,
                              .url = url});
}

MDSTREAM_INLINE void shard_fetch::unzip(bytes_view zip, const std::string& url) {
  if (!request_.files.zip_digest.empty()) check_hash(zip, request_.files.zip_digest, url);
  diagnostics where{.url = url};
  const std::error_code code =
      unzip_with(*request_.codecs.open(request_.files.compression), zip, where);
  if (code) {
    if (where.url.empty()) where.url = url;
    throw error(code, std::move(where));
  }
  if (request_.files.zip_digest.empty() && !request_.files.raw_digest.empty())
    check_hash(raw_->view(), request_.files.raw_digest, url);
}

MDSTREAM_INLINE std::error_code shard_fetch::unzip_with(const detail::opened_codec& codec,
                                                        bytes_view zip, diagnostics& where) {
  const auto size = static_cast<std::size_t>(request_.files.raw_bytes);
  if (!codec.gives_blocks()) return codec.decompress(zip, raw_->memory(), where);
  std::uint64_t at = 0;
  return codec.decompress_blocks(
      zip, size,
      [this, &at](bytes_view block) {
        raw_->put(at, block);
        at += block.size();
      },
      where);
}

MDSTREAM_INLINE void shard_fetch::finish() {
  fetched_shard result{
      .raw = std::move(*raw_), .zip = std::move(zip_file_), .bytes_fetched = fetched_};
  raw_.reset();
  zip_ = {};
  making_.reset();
  done_({}, std::move(result));
}

MDSTREAM_INLINE void shard_fetch::failed(std::error_code code) {
  raw_.reset();
  zip_file_.reset();
  if (request_.on_failed_attempt && code != errc::canceled) request_.on_failed_attempt();
  ++failed_;
  const std::optional<std::chrono::nanoseconds> pause =
      request_.remote == nullptr || (where_.is_final && (is_transient(code) || making_))
          ? std::nullopt
          : pause_before_retry(request_.rules->retry, failed_, code, detail::chance(),
                               where_.retry_after);
  if (!pause) return done_(code, std::nullopt);
  threads_.after(*pause, stop_, [self = shared_from_this()](std::error_code) {
    self->threads_.post([self] { self->attempt(); });
  });
}

}  // namespace mdstream::inline v0::detail
