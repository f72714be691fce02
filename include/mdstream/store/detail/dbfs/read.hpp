#pragma once

/// A range of a file of the Databricks file system, read by several calls. Needs libcurl: link
/// mdstream::dbfs.

#include <mdstream/store/detail/dbfs/files.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// A read on its way; keeps itself until it completes. One of several calls, or of a held version,
/// asks before and after them for the file's version: the API reads by no condition.
class dbfs_read : public std::enable_shared_from_this<dbfs_read> {
 public:
  dbfs_read(cloud_client client, const dbfs_api& api, std::string key, std::uint64_t offset,
            mutable_bytes into, std::optional<object_version> held, std::stop_token stop,
            diagnostics& where, store_handler<std::size_t> done);

  void begin();

 private:
  template <class F>
  void look(F then) {
    client_.async_send(
        api_.look(key_), stop_, where_,
        [self = shared_from_this(), then](std::error_code code, const net::http_response& answer) {
          object_version found;
          try {
            if (!code) found = self->api_.version(answer);
          } catch (const error& e) {
            self->where_ = e.where();
            self->where_.url = self->api_.url(self->key_);
            code = e.code();
          }
          if (code) return self->done_(code, 0);
          then(*self, std::move(found));
        });
  }

  void start_blocks();

  [[nodiscard]] mutable_bytes room(std::size_t block) const;

  /// The next block, if there is one and all is well; the last one to end finishes the read.
  void next_block();

  void take(std::size_t block, std::error_code code, diagnostics about,
            const net::http_response& answer);

  void finish();

  const cloud_client client_;
  const dbfs_api& api_;  // the client keeps it
  const std::string key_;
  const std::uint64_t offset_;
  mutable_bytes into_;
  std::optional<object_version> held_;
  const bool given_;  ///< the version is the caller's
  const std::stop_token stop_;
  diagnostics& where_;
  store_handler<std::size_t> done_;

  std::vector<std::size_t> got_{};  ///< bytes of each block
  std::mutex mutex_;                // over what follows
  std::size_t next_ = 0, under_way_ = 0;
  std::error_code failure_;
  diagnostics failure_where_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/dbfs/read.ipp>
#endif
