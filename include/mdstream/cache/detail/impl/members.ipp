#pragma once

#include <mdstream/cache/detail/members.hpp>
#include <mdstream/core/detail/directory_reader.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE cache_members::cache_members(std::string directory, const member_facts& facts,
                                             std::span<const std::uint64_t> streams,
                                             detail::machine here)
    : directory_(std::move(directory)),
      here_(std::move(here)),
      id_(std::to_string(::getpid()) + '-' + detail::unique_name()),
      path_(directory_ + '/' + id_) {
  refuse_other_machines();
  file_ = detail::open_lock(path_, O_EXCL);
  try {
    if (!detail::try_lock_file(file_.get(), lock_kind::exclusive, path_))
      throw system_failure(EWOULDBLOCK, "cannot lock", path_);
    streams_ = streams.size();
    update(facts);
    detail::write_at(file_.get(), sizeof(record), std::as_bytes(streams), path_);
    refuse_other_machines();  // that came at the same moment: their lock is not this one's
  } catch (...) {
    ::unlink(path_.c_str());
    throw;
  }
}

MDSTREAM_INLINE void cache_members::update(const member_facts& facts) {
  record text{magic,      facts.limit, facts.need, facts.largest, facts.reserved, streams_,
              here_.boot, here_.host,  {}};
  here_.name.copy(text.name, sizeof text.name - 1);
  detail::write_at(file_.get(), 0, std::as_bytes(std::span(&text, 1)), path_);
}

MDSTREAM_INLINE void cache_members::publish(std::span<const published_use> uses) {
  const std::uint64_t at = sizeof(record) + streams_ * sizeof(std::uint64_t);
  detail::write_at(file_.get(), at, std::as_bytes(uses), path_);
  detail::cut_file(file_.get(), at + uses.size_bytes(), path_);
}

MDSTREAM_INLINE member_sums
cache_members::survey(const std::function<void(std::string_view id)>& forget) const {
  member_sums sums;
  for_each_other([&](const std::string& name, const std::string& path, int fd) {
    const origin from = origin_of(read_record(fd, path));
    if (from == origin::another_machine) return;
    if (from == origin::an_earlier_boot || detail::try_lock_file(fd, lock_kind::exclusive, path)) {
      forget(std::string_view(name));
      ::unlink(path.c_str());
      sums.found_dead = true;
      return;
    }
    const member_facts facts = read(fd, path);
    ++sums.alive;
    sums.needs += facts.need;
    sums.largest = std::max(sums.largest, facts.largest);
    sums.reserved += facts.reserved;
    if (facts.limit != 0) {
      sums.smallest_limit =
          sums.smallest_limit == 0 ? facts.limit : std::min(sums.smallest_limit, facts.limit);
    }
  });
  return sums;
}

template <class Item>
void cache_members::read_items(int fd, const std::string& path, std::uint64_t at,
                               std::uint64_t most, std::vector<Item>& out) {
  const std::uint64_t bytes = detail::file_size(fd, path);
  if (bytes <= at) return;
  std::vector<Item> found(std::min({(bytes - at) / sizeof(Item), most, most_items}));
  const std::size_t got = detail::read_at(fd, at, std::as_writable_bytes(std::span(found)), path);
  out.insert(out.end(), found.begin(),
             found.begin() + static_cast<std::ptrdiff_t>(got / sizeof(Item)));
}

MDSTREAM_INLINE void cache_members::for_each_other(
    const std::function<void(const std::string& name, const std::string& path, int fd)>& visit)
    const {
  directory_reader entries(directory_);
  while (const char* const entry = entries.next()) {
    const std::string name = entry;
    if (name == id_) continue;
    const std::string path = directory_ + '/' + name;
    const unique_fd fd = detail::try_open(path, O_RDWR);
    if (fd) visit(name, path, fd.get());  // gone meanwhile: it left
    if (!fd && detail::lacks_descriptors(errno)) throw system_failure(errno, "cannot open", path);
  }
  entries.check(directory_);
}

MDSTREAM_INLINE std::vector<std::uint64_t> cache_members::streams_of_others() const {
  std::vector<std::uint64_t> keys;
  for_each_other([&](const std::string&, const std::string& path, int fd) {
    read_items(fd, path, sizeof(record), read_record(fd, path).streams, keys);
  });
  std::sort(keys.begin(), keys.end());
  return keys;
}

MDSTREAM_INLINE std::vector<published_use> cache_members::uses_of_others() const {
  std::vector<published_use> uses;
  for_each_other([&](const std::string&, const std::string& path, int fd) {
    const std::uint64_t keys = read_record(fd, path).streams;
    if (keys > detail::file_size(fd, path) / sizeof(std::uint64_t)) return;
    read_items(fd, path, sizeof(record) + keys * sizeof(std::uint64_t), most_items, uses);
  });
  return uses;
}

MDSTREAM_INLINE cache_members::origin cache_members::origin_of(const record& of) const noexcept {
  if (of.boot == 0 || of.boot == here_.boot) return origin::this_kernel;
  return of.host == here_.host || here_.local_disk ? origin::an_earlier_boot
                                                   : origin::another_machine;
}

MDSTREAM_INLINE void cache_members::refuse_other_machines() const {
  for_each_other([&](const std::string& name, const std::string& path, int fd) {
    record of = read_record(fd, path);
    if (origin_of(of) != origin::another_machine) return;
    of.name[sizeof of.name - 1] = 0;
    throw error(errc::unsupported,
                {.what = "the cache directory is in use by another machine, \"" +
                         std::string(of.name) + "\" (process " + name.substr(0, name.find('-')) +
                         "), with which this one shares no locks: give each machine a directory "
                         "of its own, best on a local disk; if no process of \"" +
                         std::string(of.name) + "\" uses it any more, delete this file",
                 .url = path});
  });
}

MDSTREAM_INLINE cache_members::record cache_members::read_record(int fd, const std::string& path) {
  record text{};
  const std::size_t got = detail::read_at(fd, 0, std::as_writable_bytes(std::span(&text, 1)), path);
  return got == sizeof text && text.magic == magic ? text : record{};
}

MDSTREAM_INLINE member_facts cache_members::read(int fd, const std::string& path) {
  const record text = read_record(fd, path);
  return {text.limit, text.need, text.largest, text.reserved};
}

}  // namespace mdstream::inline v0::detail
