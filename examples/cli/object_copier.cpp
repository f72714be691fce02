#include "object_copier.hpp"

#include <mdstream/core/fnv.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/ranged_read.hpp>

#include "part_file.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

namespace cli {

namespace {

// Objects up to this size come in one read; larger ones in ranges.
constexpr std::size_t small_bytes = std::size_t{16} << 20;
constexpr std::size_t range_bytes = std::size_t{8} << 20;

bool is_local(const std::string& url) { return mds::url_scheme(url).empty(); }

const mds::retry_policy patience{.attempts = 8, .pause = std::chrono::milliseconds(200)};

// Memory for one small object and a byte more, in which a longer one shows. A thread's own.
mds::mutable_bytes buffer() {
  thread_local const auto memory = std::make_unique_for_overwrite<std::byte[]>(small_bytes + 1);
  return {memory.get(), small_bytes + 1};
}

// Tells one state of an object at one place; nothing where the store knows no tags.
std::string identity_of(const std::string& url, const mds::object_version& version) {
  if (version.tag.empty()) return "";
  mds::fnv1a hash;
  for (const std::string& text : {url, version.tag, std::to_string(version.bytes)}) {
    for (const char c : text) hash.add(static_cast<unsigned char>(c));
    hash.add(-1);
  }
  return mds::detail::hex_digits(hash.value());
}

}  // namespace

patient_store::patient_store(mds::runtime& threads, const std::string& url)
    : threads_(threads), store_(mds::full_store::open(url, threads)) {
  if (!is_local(url)) remote_.emplace(threads, store_.on(threads), patience);
}

std::uint64_t patient_store::size(const std::string& key) const {
  return remote_ ? mds::store_size(*remote_, key) : store_.size(key);
}
std::size_t patient_store::read(const std::string& key, std::uint64_t offset,
                                mds::mutable_bytes into) const {
  return remote_ ? mds::store_read(*remote_, key, offset, into) : store_.read(key, offset, into);
}
void patient_store::write(const std::string& key, mds::bytes_view bytes) const {
  remote_ ? mds::store_write(*remote_, key, bytes) : store_.write(key, bytes);
}

object_copier::object_copier(mds::runtime& threads, const std::string& destination,
                             copy_progress& progress)
    : threads_(threads),
      destination_url_(destination),
      destination_(threads, destination),
      progress_(progress) {
  try {
    for (mds::object_info& each : mds::full_store::open(destination, threads).list("")) {
      there_.emplace(std::move(each.key), each.bytes);
    }
  } catch (const mds::error& e) {
    if (e.code() != mds::errc::not_found) throw;
  }
}

void object_copier::copy(const copy_item& item) {
  const std::shared_ptr<const patient_store> from = source(item.store);
  if (is_there(item, *from)) {
    ++progress_.skipped;
    return;
  }
  if (item.bytes.value_or(0) > small_bytes) {
    copy_large(item, *from);
  } else {
    copy_small(item, *from);
  }
  ++progress_.copied;
}

std::shared_ptr<const patient_store> object_copier::source(const std::string& url) {
  const std::lock_guard lock(mutex_);
  // A web URL's query, a signature say, belongs to one object: such stores are not kept.
  if (mds::store::http::serves(url) && url.find('?') != std::string::npos) {
    return std::make_shared<patient_store>(threads_, url);
  }
  std::shared_ptr<const patient_store>& known = sources_[url];
  if (!known) known = std::make_shared<patient_store>(threads_, url);
  return known;
}

bool object_copier::is_there(const copy_item& item, const patient_store& from) const {
  const auto at = there_.find(item.to);
  return at != there_.end() && at->second == (item.bytes ? *item.bytes : from.size(item.from));
}

void object_copier::copy_small(const copy_item& item, const patient_store& from) {
  const std::size_t room = item.bytes ? static_cast<std::size_t>(*item.bytes) + 1 : small_bytes + 1;
  const std::size_t got = from.read(item.from, 0, buffer().first(room));
  if (got > small_bytes) return copy_large(item, from);
  if (item.bytes && got != *item.bytes) {
    throw mds::error(mds::errc::corrupt, {.what = "the object has another size than its store said",
                                          .url = from.url(item.from)});
  }
  if (!item.bytes) expect(got);
  destination_.write(item.to, buffer().first(got));
  progress_.bytes += got;
}

void object_copier::copy_large(const copy_item& item, const patient_store& from) {
  const mds::any_async_store store = from.async();
  const auto version = mds::detail::wait_for<mds::object_version>(
      [&](auto& where, auto done) { store.async_version(item.from, {}, where, std::move(done)); });
  if (!item.bytes) expect(version.bytes);
  const auto bytes = static_cast<std::size_t>(version.bytes);
  const std::size_t ranges = (bytes + range_bytes - 1) / range_bytes;
  const auto size_of = [&](std::size_t range) {
    return std::min(range_bytes, bytes - range * range_bytes);
  };
  const bool local = is_local(destination_url_);
  if (local) mds::require_safe_key(item.to, destination_url_);
  const std::string path = destination_url_ + '/' + item.to;
  part_file part(
      local ? mds::detail::parent_of(path) : std::filesystem::temp_directory_path().string(),
      identity_of(from.url(item.from) + ' ' + path, version), bytes, ranges);
  for (std::size_t i = 0; i < ranges; ++i) {
    if (part.has(i)) progress_.bytes += size_of(i);
  }
  mds::ranged_read_options options{.range_bytes = range_bytes, .retry = patience};
  options.is_there = [&part](std::size_t range) { return part.has(range); };
  options.on_range = [&, this](std::size_t range) {
    part.mark(range);
    progress_.bytes += size_of(range);
  };
  mds::detail::wait_for<>([&](auto& where, auto done) {
    mds::async_read_ranges(threads_, store, item.from, version, part.bytes(), std::move(options),
                           {}, where, std::move(done));
  });
  if (local) return part.publish(path);
  destination_.write(item.to, part.bytes());
  part.discard();
}

}  // namespace cli
