#pragma once

// The least that a store of each kind can be: nothing beyond what the concepts ask for.

#include <fcntl.h>
#include <mdstream/async/runtime.hpp>
#include <mdstream/store/blocking.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/store/store.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace archetypes {

namespace mds = mdstream;

/// Can be moved, but neither copied, assigned nor made from nothing.
class blocking_only {
 public:
  explicit blocking_only(int) {}
  blocking_only(blocking_only&&) = default;
  blocking_only(const blocking_only&) = delete;
  blocking_only& operator=(blocking_only&&) = delete;

  std::uint64_t size(std::string_view key) const { return objects_.size(key); }
  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    return objects_.read(key, offset, into);
  }
  void write(std::string_view key, mds::bytes_view bytes) const { objects_.write(key, bytes); }
  std::vector<mds::object_info> list(std::string_view prefix) const {
    return objects_.list(prefix);
  }
  void remove(std::string_view key) const { objects_.remove(key); }
  std::string url(std::string_view key) const { return objects_.url(key); }

 private:
  mds::store::memory objects_;
};

class async_only {
 public:
  explicit async_only(mds::runtime& threads) : inner_(threads, mds::store::memory()) {}
  async_only(async_only&&) = default;
  async_only(const async_only&) = delete;
  async_only& operator=(async_only&&) = delete;

  void async_size(std::string key, std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::uint64_t> done) const {
    inner_.async_size(std::move(key), std::move(stop), where, std::move(done));
  }
  void async_read(std::string key, std::uint64_t offset, mds::mutable_bytes into,
                  std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::size_t> done) const {
    inner_.async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
  }
  void async_write(std::string key, mds::bytes_view bytes, std::stop_token stop,
                   mds::diagnostics& where, mds::store_handler<> done) const {
    inner_.async_write(std::move(key), bytes, std::move(stop), where, std::move(done));
  }
  void async_list(std::string prefix, std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::vector<mds::object_info>> done) const {
    inner_.async_list(std::move(prefix), std::move(stop), where, std::move(done));
  }
  void async_remove(std::string key, std::stop_token stop, mds::diagnostics& where,
                    mds::store_handler<> done) const {
    inner_.async_remove(std::move(key), std::move(stop), where, std::move(done));
  }
  std::string url(std::string_view key) const { return inner_.url(key); }

 private:
  mds::blocking<mds::store::memory> inner_;
};

static_assert(mds::blocking_store<blocking_only> && !mds::async_store<blocking_only>);
static_assert(mds::async_store<async_only> && !mds::blocking_store<async_only>);
static_assert(mds::object_store<blocking_only> && mds::object_store<async_only>);
static_assert(!mds::openable_store<blocking_only> && !mds::openable_store<async_only>);

}  // namespace archetypes
