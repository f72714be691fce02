#pragma once

/// A directory of a store as a store of its own, which blocks.

#include <mdstream/store/opened_store.hpp>
#include <mdstream/store/store.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// The objects of a store whose keys begin with `directory` and a slash. Here their keys do not
/// have that prefix.
class part_of_store {
 public:
  part_of_store(opened_store whole, const std::string& directory);

  [[nodiscard]] std::uint64_t size(std::string_view key) const;
  std::size_t read(std::string_view key, std::uint64_t offset, mutable_bytes into) const;
  void write(std::string_view key, bytes_view bytes) const;
  void publish(std::string_view key, bytes_view bytes) const;
  [[nodiscard]] std::vector<object_info> list(std::string_view prefix) const;
  void remove(std::string_view key) const;
  [[nodiscard]] std::string url(std::string_view key) const;

 private:
  [[nodiscard]] std::string whole_key(std::string_view key) const;

  opened_store whole_;
  std::string prefix_;  // with its slash
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/writer/detail/impl/part_of_store.ipp>
#endif
