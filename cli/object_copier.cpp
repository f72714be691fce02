#include "object_copier.hpp"

#include <mdstream/cache/detail/mapping.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/store/detail/digest.hpp>
#include <mdstream/store/detail/ranged_read.hpp>
#include <mdstream/store/detail/streamed_read.hpp>
#include <mdstream/store/operations.hpp>

#include "let_go.hpp"
#include "part_file.hpp"
#include "running_digest.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <system_error>
#include <utility>
#include <vector>

namespace cli {

namespace {

// Objects up to these sizes come in one request, into a file or into memory; larger ones in ranges.
constexpr std::uint64_t streamed_bytes = std::uint64_t{32} << 20;
constexpr std::size_t small_bytes = std::size_t{1} << 20;
constexpr std::size_t range_bytes = std::size_t{8} << 20;

// So many are asked for one by one at a destination, and more by a listing.
constexpr std::size_t few = 32;

// How often an object is copied that changes meanwhile.
constexpr int most_begun = 3;

// Memory for one small object and a byte more, in which a longer one shows. A thread's own.
mds::mutable_bytes buffer() {
  thread_local const auto memory = std::make_unique_for_overwrite<std::byte[]>(small_bytes + 1);
  return {memory.get(), small_bytes + 1};
}

// For large objects on their way from store to store: often more than a /tmp in memory holds.
std::string staging_directory() {
  const char* const named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/var/tmp";
}

changed_object other(std::string what, std::string url) {
  return {mds::errc::corrupt, {.what = std::move(what), .url = std::move(url)}};
}

changed_object other_size(std::string url) {
  return other("the object has another size than its store said", std::move(url));
}

[[noreturn]] void throw_read_failure(const mds::error& failure) {
  if (failure.code() == mds::errc::corrupt) throw changed_object(failure);
  throw mds::error(failure);
}

// Throws a `changed_object` where `check` finds that.
template <class Check>
void check_changed(const Check& check) {
  try {
    check();
  } catch (const mds::error& e) {
    throw_read_failure(e);
  }
}

// Whether an object is another than the plan has, as far as both can be told apart.
bool is_another(const copy_item& planned, const mds::object_info& now) {
  if (planned.bytes && *planned.bytes != now.bytes) return true;
  return !planned.digest.empty() && !now.digest.empty() &&
         mds::detail::same_bytes(planned.digest, now.digest) != true;
}

// Sixteen digits that stand for these texts.
std::string name_of(std::initializer_list<std::string> texts) {
  mds::fnv1a hash;
  for (const std::string& text : texts) {
    for (const char c : text) hash.add(static_cast<unsigned char>(c));
    hash.add(-1);
  }
  return mds::detail::hex_digits(hash.value());
}

// Tells one state of an object; nothing where the store knows no tags.
std::string name_of(const mds::object_version& version) {
  return version.tag.empty() ? "" : name_of({version.tag, std::to_string(version.bytes)});
}

}  // namespace

// One object on its way: what its store told of it last, and what it has added to the progress.
struct object_copier::job {
  job(const copy_item& i, copy_progress& p, handler d)
      : item(i), progress(p), done(std::move(d)), expected(i.bytes.value_or(0)) {}

  void bring(std::uint64_t bytes) {
    brought += bytes;
    progress.bytes += bytes;
  }
  // So many bytes have to be brought in all.
  void expect(std::uint64_t bytes) {
    progress.bytes_expected += bytes - std::exchange(expected, bytes);
  }
  void forget_brought() { progress.bytes -= brought.exchange(0); }

  copy_item item;
  copy_progress& progress;
  handler done;
  std::shared_ptr<const patient_store> from{};
  int begun = 0;

 private:
  std::atomic<std::uint64_t> brought{0};
  std::uint64_t expected;
};

// What of a job goes to a file as it comes: no buffer holds an object.
struct object_copier::streaming {
  explicit streaming(std::string path) : file(std::move(path), [](auto&) {}, temporary_mark) {}

  // `first` is what came of it. An object that came whole needs no place before it is written.
  void begin(const copy_item& item, const mds::object_version& version, mds::bytes_view first,
             compare_by compared) {
    is_large = version.bytes > streamed_bytes;
    if (is_large) throw mds::error(mds::errc::out_of_range, "the object is large");
    if (version.bytes > first.size()) file.reserve(version.bytes);
    // What looks like an MD5 in S3 is none where objects are encrypted, which no listing shows.
    if (compared == compare_by::hash && !mds::store::s3::serves(item.store)) {
      digest = running_digest::of_any(item.digest, version.bytes);
    }
  }
  void append(mds::bytes_view bytes) {
    file.append(bytes);
    if (digest) digest->update(bytes);
  }

  mds::detail::replacement_file file;
  std::optional<running_digest> digest{};
  mds::diagnostics where{};
  bool is_large = false;
};

object_copier::object_copier(mds::runtime& threads, const copy_plan& plan, copy_options options,
                             std::stop_token stop, copy_progress& progress)
    : threads_(threads),
      destination_url_(plan.destination),
      into_files_(is_local(destination_url_)),
      options_(options),
      stop_(std::move(stop)),
      destination_(threads, destination_url_, options_.patience, stop_),
      progress_(progress),
      blocking_(options.at_once) {
  if (into_files_ || plan.items.size() <= few) return;
  try {
    std::map<std::string, copy_end> there;
    for (mds::object_info& each : destination_.list("")) {
      there.emplace(std::move(each.key), copy_end{each.bytes, std::move(each.digest)});
    }
    there_ = std::move(there);
  } catch (const mds::error& e) {
    if (!tells_of_none(e.code())) throw;
  }
}

void object_copier::async_copy(const copy_item& item, handler done) {
  const auto one = std::make_shared<job>(item, progress_, std::move(done));
  try {
    one->from = source(item.store);
  } catch (...) {
    return one->done(std::current_exception());
  }
  begin(one);
}

void object_copier::begin(const job_ptr& one) {
  comparison seen = comparison::different;
  try {
    if (one->begun++ == 0) {
      require_keys(one->item);
      seen = first_look(one->item);
    }
    if (is_left(seen)) {
      leave(*one, seen);
      return one->done({});
    }
    const bool streams = into_files_ && one->from->async().streams() &&
                         one->item.bytes.value_or(0) <= streamed_bytes;
    if (streams && seen == comparison::different) {
      return stream(one, std::make_shared<streaming>(written_path_of(one->item)));
    }
  } catch (...) {
    return one->done(std::current_exception());
  }
  on_a_thread(one, [this, one, seen] { copy(*one, seen); });
}

void object_copier::end(const job_ptr& one, const std::exception_ptr& failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const changed_object& e) {
    return blocking_.post([this, one, e] { look_again(one, e); });
  } catch (...) {  // is told as it is
  }
  one->done(failure);
}

// Begins anew with the object as it is now, where that is another than the one that failed.
void object_copier::look_again(const job_ptr& one, const changed_object& failure) {
  try {
    mds::object_info now = one->from->look(one->item.from);
    if (!failure.where().is_final && !is_another(one->item, now)) throw mds::error(failure);
    if (one->begun == most_begun) {
      mds::diagnostics where = failure.where();
      where.what += ", each of " + std::to_string(most_begun) + " times";
      throw changed_object(failure.code(), std::move(where));
    }
    one->item.bytes = now.bytes;
    one->item.digest = std::move(now.digest);
    one->forget_brought();
    one->expect(now.bytes);
  } catch (...) {
    return one->done(std::current_exception());
  }
  begin(one);
}

void object_copier::on_a_thread(const job_ptr& one, mds::detail::unique_function<void()> work) {
  blocking_.post([this, one, work = std::move(work)]() mutable {
    std::exception_ptr failure;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    end(one, failure);
  });
}

void object_copier::copy(job& one, comparison seen) {
  if (seen == comparison::unread) seen = last_look(one, target(one.item));
  if (is_left(seen)) return leave(one, seen);
  one.item.bytes.value_or(0) <= small_bytes ? copy_small(one) : copy_beyond(one);
}

void object_copier::leave(job& one, comparison seen) {
  one.expect(0);
  ++progress_.skipped;
  if (seen == comparison::same_size) ++progress_.skipped_by_size;
}

void object_copier::copied(const job& one) {
  if (options_.verify && !is_left(last_look(one, looked_at(one.item)))) {
    throw other("the copy has other bytes than its source", destination_.url(one.item.to));
  }
  ++progress_.copied;
}

std::shared_ptr<const patient_store> object_copier::source(const std::string& url) {
  const std::lock_guard lock(mutex_);
  // A web URL's query, a signature say, belongs to one object: such stores are not kept, but what
  // their server bears is one for all.
  const std::size_t query = mds::store::http::serves(url) ? url.find('?') : std::string::npos;
  const bool is_one_objects = query != std::string::npos;
  std::shared_ptr<const patient_store>& known =
      sources_[is_one_objects ? url.substr(0, query + 1) : url];
  if (!known)
    return known = std::make_shared<patient_store>(threads_, url, options_.patience, stop_);
  if (!is_one_objects) return known;
  return std::make_shared<patient_store>(threads_, url, options_.patience, stop_, known.get());
}

// Asks the destination. Nothing where there is no such object, or nobody may know.
std::optional<copy_end> object_copier::looked_at(const copy_item& item) const {
  if (into_files_) {
    std::error_code failure;
    const auto bytes = std::filesystem::file_size(path_of(item), failure);
    if (failure) return std::nullopt;
    return copy_end{bytes, "", true};
  }
  auto found = destination_.find(item.to);
  if (!found) return std::nullopt;
  return copy_end{found->bytes, std::move(found->digest)};
}

std::optional<copy_end> object_copier::target(const copy_item& item) const {
  if (!there_) return looked_at(item);
  const auto at = there_->find(item.to);
  return at == there_->end() ? std::nullopt : std::optional(at->second);
}

void object_copier::require_keys(const copy_item& item) const {
  try {
    mds::require_safe_key(item.from, mds::net::redacted_url(item.store));
    mds::require_safe_key(item.to, mds::net::redacted_url(destination_url_));
  } catch (const mds::error& e) {
    throw object_failure(e);
  }
}

// Without asking another machine or reading: `unread` where that has to be done.
comparison object_copier::first_look(const copy_item& item) const {
  if (!into_files_ && !there_) return comparison::unread;
  const auto there = target(item);
  if (!there) return comparison::different;
  if (!item.bytes) return comparison::unread;
  return compare(options_.compared, {*item.bytes, item.digest, is_local(item.store)}, *there);
}

// With what asking the source and reading tell: never `unread`.
comparison object_copier::last_look(const job& one, const std::optional<copy_end>& target) const {
  if (!target) return comparison::different;
  const copy_item& item = one.item;
  copy_end source{item.bytes.value_or(0), item.digest, is_local(item.store)};
  if (!item.bytes) {
    mds::object_info found = one.from->look(item.from);
    source.bytes = found.bytes;
    source.digest = std::move(found.digest);
  }
  const comparison seen = compare(options_.compared, source, *target);
  if (seen != comparison::unread) return seen;
  return compare_bytes(source, one.from->url(item.from), *target, into_files_ ? path_of(item) : "",
                       stop_);
}

std::string object_copier::path_of(const copy_item& item) const {
  mds::require_safe_key(item.to, destination_url_);
  return destination_url_ + '/' + item.to;
}

// In a directory without what copies that were killed have left there.
std::string object_copier::written_path_of(const copy_item& item) {
  std::string path = path_of(item);
  cleaned_.add(mds::detail::parent_of(path));
  return path;
}

void object_copier::stream(const job_ptr& one, const std::shared_ptr<streaming>& copy) {
  const auto take = [this, one, copy](const mds::object_version& version, mds::bytes_view bytes) {
    if (copy->file.size() == 0) copy->begin(one->item, version, bytes, options_.compared);
    copy->append(bytes);
    one->bring(bytes.size());
  };
  mds::detail::async_stream_resumed(
      threads_, one->from->async(), one->item.from, one->item.bytes.value_or(streamed_bytes + 1),
      take, options_.patience.requests(), one->from->budget(), stop_, copy->where,
      [this, one, copy](std::error_code code, const mds::object_version& found) {
        std::exception_ptr failure;
        try {
          if (code && !copy->is_large) throw_read_failure({code, std::move(copy->where)});
          if (!finish(*one, *copy, found)) {
            return on_a_thread(one, [this, one] { copy_large(*one); });
          }
          if (options_.verify) {  // reads, and may ask
            return on_a_thread(one, [this, one] { copied(*one); });
          }
          copied(*one);
        } catch (...) {
          failure = std::current_exception();
        }
        end(one, failure);
      });
}

// False for what is too large to come in one request; it is then as if nothing had come.
bool object_copier::finish(job& one, streaming& copy, const mds::object_version& found) {
  const std::uint64_t got = copy.file.size();
  if (copy.is_large || got > streamed_bytes) {  // more than its server told before
    one.forget_brought();
    return false;
  }
  if (one.item.bytes && (got != *one.item.bytes || found.bytes > got)) {
    throw other_size(one.from->url(one.item.from));
  }
  if (copy.digest && !copy.digest->matches()) {
    throw other("what came is not what its store tells a hash of", one.from->url(one.item.from));
  }
  one.expect(got);
  copy.file.publish(mds::detail::durability::cached);
  return true;
}

// What fits no buffer.
void object_copier::copy_beyond(job& one) {
  is_local(one.item.store) && !into_files_ ? copy_mapped(one) : copy_large(one);
}

// Out of the page cache, without a buffer of its size.
void object_copier::copy_mapped(job& one) {
  const copy_item& item = one.item;
  const std::string path = one.from->url(item.from);
  const mds::detail::unique_fd file = mds::detail::open_file(path, O_RDONLY);
  const auto size = static_cast<std::size_t>(mds::detail::file_size(file.get(), path));
  if (item.bytes && size != *item.bytes) throw other_size(path);
  const mds::detail::file_state state(file.get(), path);
  one.expect(size);
  // Zeros in place of what a shorter file has lost: `check` sees to it that they become no object.
  const auto bytes =
      mds::detail::file_mapping::of(file.get(), size, path, mds::detail::mapped_fault::zeros);
  const auto check = [&] {
    if (!(mds::detail::file_state(file.get(), path) == state)) state.fail(path);
    if (mds::detail::mapped_files::instance().lost(bytes.bytes().data())) {
      throw mds::error(
          mds::errc::io_error,
          {.what = "the file cannot be read where it is mapped", .url = path, .is_final = true});
    }
  };
  try {
    destination_.write_mapped(item.to, bytes.bytes(), check);
    check();
  } catch (const mds::error& e) {
    check_changed(check);  // whatever a mixture led to
    throw;
  }
  one.bring(size);
  copied(one);
}

void object_copier::copy_small(job& one) {
  const copy_item& item = one.item;
  const std::size_t room = item.bytes ? static_cast<std::size_t>(*item.bytes) + 1 : small_bytes + 1;
  const std::size_t got = [&] {
    try {
      return one.from->read(item.from, 0, buffer().first(room));
    } catch (const mds::error& e) {
      throw_read_failure(e);
    }
  }();
  if (got > small_bytes) return copy_beyond(one);
  if (item.bytes && got != *item.bytes) throw other_size(one.from->url(item.from));
  one.expect(got);
  if (into_files_) {
    mds::detail::replacement_file file(written_path_of(item), [](auto&) {}, temporary_mark);
    file.append(buffer().first(got));
    file.publish(mds::detail::durability::cached);
  } else {
    destination_.write(item.to, buffer().first(got));
  }
  one.bring(got);
  copied(one);
}

void object_copier::copy_large(job& one) {
  const copy_item& item = one.item;
  const patient_store& from = *one.from;
  const mds::any_async_store store = from.async();
  const mds::object_version version = from.version(item.from);
  const auto bytes = static_cast<std::size_t>(version.bytes);
  const std::size_t ranges = (bytes + range_bytes - 1) / range_bytes;
  const auto size_of = [&](std::size_t range) {
    return std::min(range_bytes, bytes - range * range_bytes);
  };
  const std::string path = into_files_ ? written_path_of(item) : "";
  part_file part =
      into_files_ ? part_file(mds::detail::parent_of(path), name_of({from.url(item.from), path}),
                              name_of(version), bytes, ranges)
                  : part_file::unnamed(staging_directory(), bytes, ranges);
  std::uint64_t missing = bytes;
  for (std::size_t i = 0; i < ranges; ++i) {
    if (part.has(i)) missing -= size_of(i);
  }
  one.expect(missing);
  mds::detail::ranged_read_options options{
      .range_bytes = range_bytes, .retry = options_.patience.requests(), .budget = from.budget()};
  options.is_there = [&part](std::size_t range) { return part.has(range); };
  std::vector<std::size_t> brought(ranges);  // of each range; one that is repeated counts once
  const auto bring = [&](std::size_t range, std::size_t end) {
    if (end > brought[range]) one.bring(end - std::exchange(brought[range], end));
  };
  options.on_range = [&](std::size_t range) {
    part.mark(range);
    let_go(mds::bytes_view(part.bytes()).subspan(range * range_bytes, size_of(range)));
    bring(range, size_of(range));
  };
  // Written by the threads of the network where they can, which costs no fault of a page.
  auto into = mds::detail::ranged_target::memory(part.bytes());
  if (store.streams()) {
    into.put = [&](std::uint64_t at, mds::bytes_view some) {
      part.write(at, some);
      bring(static_cast<std::size_t>(at / range_bytes),
            static_cast<std::size_t>(at % range_bytes) + some.size());
    };
  }
  try {
    mds::detail::wait_for<>([&](auto& where, auto done) {
      mds::detail::async_read_ranges(threads_, store, item.from, version, into, std::move(options),
                                     stop_, where, std::move(done));
    });
  } catch (const mds::error& e) {
    if (e.code() == mds::errc::corrupt) part.discard();  // of an object that is no more
    throw_read_failure(e);
  }
  if (into_files_) {
    part.publish(path);
  } else {
    destination_.write_mapped(item.to, part.bytes());
  }
  copied(one);
}

}  // namespace cli
