#pragma once

// For stores of tests that differ from another in how they are read.

#include <mdstream/store/store.hpp>

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace store_test {

/// All that a store does but `async_read`, by `inner`.
template <class Inner>
struct forwarding {
  Inner inner;

  void async_size(std::string key, std::stop_token stop, mdstream::diagnostics& where,
                  mdstream::store_handler<std::uint64_t> done) const {
    inner.async_size(std::move(key), std::move(stop), where, std::move(done));
  }
  void async_write(std::string key, mdstream::bytes_view bytes, std::stop_token stop,
                   mdstream::diagnostics& where, mdstream::store_handler<> done) const {
    inner.async_write(std::move(key), bytes, std::move(stop), where, std::move(done));
  }
  void async_list(std::string prefix, std::stop_token stop, mdstream::diagnostics& where,
                  mdstream::store_handler<std::vector<mdstream::object_info>> done) const {
    inner.async_list(std::move(prefix), std::move(stop), where, std::move(done));
  }
  void async_remove(std::string key, std::stop_token stop, mdstream::diagnostics& where,
                    mdstream::store_handler<> done) const {
    inner.async_remove(std::move(key), std::move(stop), where, std::move(done));
  }
  [[nodiscard]] std::string url(std::string_view key) const { return inner.url(key); }
};

}  // namespace store_test
