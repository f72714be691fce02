#include "object_copier.hpp"

#include <mdstream/cache/mapping.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/ranged_read.hpp>
#include <mdstream/store/streamed_read.hpp>

#include "part_file.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

namespace cli {

namespace {

// Objects up to these sizes come in one request, into a file or into memory; larger ones in ranges.
constexpr std::uint64_t streamed_bytes = std::uint64_t{32} << 20;
constexpr std::size_t small_bytes = std::size_t{16} << 20;
constexpr std::size_t range_bytes = std::size_t{8} << 20;

bool is_local(const std::string& url) { return mds::url_scheme(url).empty(); }

const mds::retry_policy patience{.attempts = 8, .pause = std::chrono::milliseconds(200)};

// Memory for one small object and a byte more, in which a longer one shows. A thread's own.
mds::mutable_bytes buffer() {
  thread_local const auto memory = std::make_unique_for_overwrite<std::byte[]>(small_bytes + 1);
  return {memory.get(), small_bytes + 1};
}

mds::error other_size(std::string url) {
  return {mds::errc::corrupt,
          {.what = "the object has another size than its store said", .url = std::move(url)}};
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
    : threads_(threads), store_(mds::full_store::open(url, threads)), async_(store_.on(threads)) {
  if (!is_local(url)) remote_.emplace(threads, async_, patience);
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

// One whose bytes go to a file as they come: no buffer holds an object.
struct object_copier::streaming {
  streaming(const copy_item& i, std::shared_ptr<const patient_store> f, const std::string& path)
      : item(i), from(std::move(f)), file(path) {}

  const copy_item& item;
  std::shared_ptr<const patient_store> from;
  mds::detail::replacement_file file;
  handler done{};
  mds::diagnostics where{};
  bool is_large = false;
};

object_copier::object_copier(mds::runtime& threads, const std::string& destination,
                             unsigned at_once, copy_progress& progress)
    : threads_(threads),
      destination_url_(destination),
      destination_(threads, destination),
      progress_(progress),
      blocking_(at_once) {
  try {
    for (mds::object_info& each : mds::full_store::open(destination, threads).list("")) {
      there_.emplace(std::move(each.key), each.bytes);
    }
  } catch (const mds::error& e) {
    if (e.code() != mds::errc::not_found) throw;
  }
}

void object_copier::async_copy(const copy_item& item, handler done) {
  std::shared_ptr<const patient_store> from;
  std::shared_ptr<streaming> streamed;
  try {
    from = source(item.store);
    const bool asks = !item.bytes && there_.contains(item.to);
    const bool streams = is_local(destination_url_) && from->async().streams() &&
                         item.bytes.value_or(0) <= streamed_bytes;
    if (!asks && is_there(item, *from)) {
      ++progress_.skipped;
      return done({});
    }
    if (streams && !asks) streamed = std::make_shared<streaming>(item, from, path_of(item));
  } catch (...) {
    return done(std::current_exception());
  }
  if (!streamed) return on_a_thread([this, &item, from] { copy(item, *from); }, std::move(done));
  streamed->done = std::move(done);
  stream(streamed);
}

void object_copier::on_a_thread(mds::unique_function<void()> work, handler done) {
  blocking_.post([work = std::move(work), done = std::move(done)]() mutable {
    std::exception_ptr failure;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    done(failure);
  });
}

void object_copier::copy(const copy_item& item, const patient_store& from) {
  if (is_there(item, from)) {
    ++progress_.skipped;
  } else if (item.bytes.value_or(0) <= small_bytes) {
    copy_small(item, from);
  } else if (is_local(item.store) && !is_local(destination_url_)) {
    copy_mapped(item, from);
  } else {
    copy_large(item, from);
  }
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

std::string object_copier::path_of(const copy_item& item) const {
  mds::require_safe_key(item.to, destination_url_);
  return destination_url_ + '/' + item.to;
}

void object_copier::stream(const std::shared_ptr<streaming>& copy) {
  const auto take = [this, copy](const mds::object_version& version, mds::bytes_view bytes) {
    copy->is_large = version.bytes > streamed_bytes;
    if (copy->is_large) throw mds::error(mds::errc::out_of_range, "the object is large");
    copy->file.append(bytes);
    progress_.bytes += bytes.size();
  };
  mds::async_stream_resumed(
      threads_, copy->from->async(), copy->item.from, copy->item.bytes.value_or(streamed_bytes + 1),
      take, patience, {}, copy->where,
      [this, copy](std::error_code code, const mds::object_version& found) {
        std::exception_ptr failure;
        try {
          if (code && !copy->is_large) throw mds::error(code, std::move(copy->where));
          if (!finish(*copy, found)) {
            return on_a_thread([this, copy] { copy_large(copy->item, *copy->from); },
                               std::move(copy->done));
          }
        } catch (...) {
          failure = std::current_exception();
        }
        copy->done(failure);
      });
}

// False for what is too large to come in one request; it is then as if nothing had come.
bool object_copier::finish(streaming& copy, const mds::object_version& found) {
  const std::uint64_t got = copy.file.size();
  if (copy.is_large || got > streamed_bytes) {  // more than its server told before
    progress_.bytes -= got;
    return false;
  }
  if (copy.item.bytes && (got != *copy.item.bytes || std::max(found.bytes, got) != got)) {
    throw other_size(copy.from->url(copy.item.from));
  }
  if (!copy.item.bytes) expect(got);
  copy.file.publish(mds::detail::durability::cached);
  ++progress_.copied;
  return true;
}

// Out of the page cache, without a buffer.
void object_copier::copy_mapped(const copy_item& item, const patient_store& from) {
  const std::string path = from.url(item.from);
  const mds::unique_fd file = mds::detail::open_file(path, O_RDONLY);
  const auto size = static_cast<std::size_t>(mds::detail::file_size(file.get(), path));
  if (size != *item.bytes) throw other_size(path);
  const auto bytes = mds::file_mapping::of(file.get(), size, path);
  destination_.write(item.to, bytes.bytes());
  progress_.bytes += size;
  ++progress_.copied;
}

void object_copier::copy_small(const copy_item& item, const patient_store& from) {
  const std::size_t room = item.bytes ? static_cast<std::size_t>(*item.bytes) + 1 : small_bytes + 1;
  const std::size_t got = from.read(item.from, 0, buffer().first(room));
  if (got > small_bytes) return copy_large(item, from);
  if (item.bytes && got != *item.bytes) throw other_size(from.url(item.from));
  if (!item.bytes) expect(got);
  destination_.write(item.to, buffer().first(got));
  progress_.bytes += got;
  ++progress_.copied;
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
  const std::string path = local ? path_of(item) : destination_url_ + '/' + item.to;
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
  // Written by the threads of the network where they can, which costs no fault of a page.
  auto into = mds::ranged_target::memory(part.bytes());
  if (store.streams()) {
    into.put = [&part](std::uint64_t at, mds::bytes_view some) { part.write(at, some); };
  }
  mds::detail::wait_for<>([&](auto& where, auto done) {
    mds::async_read_ranges(threads_, store, item.from, version, into, std::move(options), {}, where,
                           std::move(done));
  });
  if (local) {
    part.publish(path);
  } else {
    destination_.write(item.to, part.bytes());
    part.discard();
  }
  ++progress_.copied;
}

}  // namespace cli
