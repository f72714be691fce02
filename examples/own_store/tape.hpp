#pragma once

/// A store of one's own, on one page: many objects in one file, for file systems that suffer from
/// many small ones. The file is a row of records; the last record of a key counts.

#include <mdstream/store/store.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace own_store {

/// `tape:///path/of/the/file`. Copies share the file; one process at a time writes it.
class tape {
 public:
  static constexpr std::string_view schemes = "tape://";
  static bool serves(std::string_view url) { return url.starts_with(schemes); }
  static tape open(std::string_view url) { return tape(std::string(url.substr(schemes.size()))); }

  explicit tape(const std::string& path) : shared_(std::make_shared<shared>()) {
    shared_->path = path;
    std::ofstream(path, std::ios::app | std::ios::binary);  // there is one from now on
    shared_->open();
    shared_->read_records();
  }

  std::uint64_t size(std::string_view key) const {
    const std::lock_guard lock(shared_->mutex);
    return find(key).bytes;
  }

  std::size_t read(std::string_view key, std::uint64_t offset, mdstream::mutable_bytes into) const {
    const std::lock_guard lock(shared_->mutex);
    const record& object = find(key);
    if (offset >= object.bytes) return 0;
    const auto count = std::min<std::uint64_t>(into.size(), object.bytes - offset);
    shared_->file.seekg(static_cast<std::streamoff>(object.begin + offset));
    shared_->get(into.data(), count);
    return static_cast<std::size_t>(count);
  }

  void write(std::string_view key, mdstream::bytes_view bytes) const {
    mdstream::require_safe_key(key, url(""));
    const std::lock_guard lock(shared_->mutex);
    shared_->append(key, bytes.size(), bytes);
  }

  std::vector<mdstream::object_info> list(std::string_view prefix) const {
    const std::lock_guard lock(shared_->mutex);
    std::vector<mdstream::object_info> found;
    auto at = shared_->objects.lower_bound(prefix);
    for (; at != shared_->objects.end() && at->first.starts_with(prefix); ++at) {
      found.push_back({at->first, at->second.bytes});
    }
    return found;
  }

  void remove(std::string_view key) const {
    mdstream::require_safe_key(key, url(""));
    const std::lock_guard lock(shared_->mutex);
    if (shared_->objects.contains(key)) shared_->append(key, removed, {});
  }

  std::string url(std::string_view key) const {
    return std::string(schemes) + shared_->path + (key.empty() ? "" : "/") + std::string(key);
  }

 private:
  static constexpr std::uint64_t removed = ~std::uint64_t{0};  // in place of a size

  struct record {
    std::uint64_t begin = 0, bytes = 0;
  };

  struct shared {
    void get(void* into, std::uint64_t bytes) {
      file.read(static_cast<char*>(into), static_cast<std::streamsize>(bytes));
      if (file) return;
      file.clear();  // the next read may succeed
      throw std::runtime_error("cannot read " + path);
    }
    void put(const void* from, std::uint64_t bytes) {
      file.write(static_cast<const char*>(from), static_cast<std::streamsize>(bytes));
    }

    void open() {
      file.open(path, std::ios::in | std::ios::out | std::ios::binary);
      if (!file) throw std::runtime_error("cannot open " + path);
    }

    /// A record whose end is missing was being written when its process died: it is not there.
    void read_records() {
      file.seekg(0, std::ios::end);
      const auto end = static_cast<std::uint64_t>(file.tellg());
      read_records(end);
      if (tail != end) cut();
    }
    void read_records(std::uint64_t end) {
      while (end - tail >= 16) {
        std::uint64_t sizes[2];
        file.seekg(static_cast<std::streamoff>(tail));
        get(sizes, 16);
        const std::uint64_t bytes = sizes[1] == removed ? 0 : sizes[1];
        if (sizes[0] > end - tail - 16 || bytes > end - tail - 16 - sizes[0]) return;
        std::string key(sizes[0], '\0');
        get(key.data(), key.size());
        note(key, sizes[1]);
      }
    }

    /// Takes off what follows the last whole record: a shorter one would not cover it.
    void cut() {
      file.close();
      file.clear();
      std::filesystem::resize_file(path, tail);
      open();
    }

    void append(std::string_view key, std::uint64_t size, mdstream::bytes_view bytes) {
      const std::uint64_t sizes[2] = {key.size(), size};
      file.seekp(static_cast<std::streamoff>(tail));
      put(sizes, 16);
      put(key.data(), key.size());
      put(bytes.data(), bytes.size());
      if (!file.flush()) {
        cut();
        throw std::runtime_error("cannot write " + path);
      }
      note(std::string(key), size);
    }

    void note(const std::string& key, std::uint64_t size) {
      const std::uint64_t begin = tail + 16 + key.size();
      tail = size == removed ? begin : begin + size;
      if (size == removed) {
        objects.erase(key);
      } else {
        objects[key] = {begin, size};
      }
    }

    std::string path;
    std::mutex mutex;
    std::fstream file;
    std::uint64_t tail = 0;
    std::map<std::string, record, std::less<>> objects;
  };

  const record& find(std::string_view key) const {
    mdstream::require_safe_key(key, url(""));
    const auto at = shared_->objects.find(key);
    if (at != shared_->objects.end()) return at->second;
    throw mdstream::error(mdstream::errc::not_found,
                          {.what = "there is no such object", .url = url(key)});
  }

  std::shared_ptr<shared> shared_;
};

static_assert(mdstream::openable_store<tape>);

}  // namespace own_store
