#pragma once

/// The Databricks file system as a `cloud_api`, but for reading: `file_read` does that. Needs
/// libcurl: link mdstream::dbfs. Source: Databricks' DBFS API, version 2.0, whose calls carry at
/// most 1 MiB, in base64.

#include <mdstream/core/json/value.hpp>
#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/cloud/upload.hpp>
#include <mdstream/store/detail/dbfs/workspace_api.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace mdstream::inline v0::detail {

class dbfs_api final : public workspace_api {
 public:
  /// Of a call that reads or writes.
  static constexpr std::uint64_t block_bytes = 1 << 20;

  using workspace_api::workspace_api;

  [[nodiscard]] cloud_call look(const std::string& key) const override {
    return question("get-status", key);
  }
  [[nodiscard]] MDSTREAM_INLINE object_version
  version(const net::http_response& answer) const override;

  /// The call for some of a file's bytes; `read` gives them from its answer.
  [[nodiscard]] cloud_call get(const std::string& key, const object_version*) const override {
    return question("read", key);
  }
  [[nodiscard]] cloud_call block(const std::string& key, std::uint64_t offset,
                                 std::uint64_t count) const;
  [[nodiscard]] static std::vector<std::byte> read_block(const net::http_response& answer,
                                                         std::uint64_t most);

  MDSTREAM_INLINE void remove(const cloud_client& client, std::string key, std::stop_token stop,
                              diagnostics& where, store_handler<> done) const override;
  [[nodiscard]] cloud_call removal(const std::string& key) const;

  /// Left out are the temporary files of writes under way.
  [[nodiscard]] MDSTREAM_INLINE cloud_page page(const cloud_call& asked,
                                                const net::http_response& answer) const override;

  /// Under a temporary name, which is moved to the file's own. Where one is replaced, there is none
  /// for a moment: the API does not move over a file. Where that fails, what was written stays
  /// under its temporary name, which the failure's `what` tells.
  MDSTREAM_INLINE void write(const cloud_client& client, std::string key, bytes_view bytes,
                             std::stop_token stop, diagnostics& where,
                             store_handler<> done) const override;

 private:
  static constexpr std::string_view temporary_mark = ".mdstream-";

  class file_write : public std::enable_shared_from_this<file_write> {
   public:
    file_write(const dbfs_api& api, cloud_client client, std::string key, bytes_view bytes,
               std::stop_token stop, diagnostics& where, store_handler<> done);

    void begin();

   private:
    using step = std::function<void(file_write&)>;

    void send(cloud_call call, step then);

    /// A block that was sent again because its answer was lost is there twice.
    void check();

    void move();

    /// A move that was sent again because its answer was lost is refused, too: what has the name
    /// may be the new file. It is told by the temporary one, which is gone then.
    void take_refused_move(std::error_code code, const net::http_response& answer);

    void find_moved();

    using look_step = std::function<void(file_write&, std::error_code, std::uint64_t bytes)>;

    /// Leaves `where_` as it is where the answer is good.
    void look_at(const std::string& key, look_step then);

    void remove_old();

    /// Once the old file may be gone, the temporary one may be all there is.
    void fail(std::error_code code);

    void give_up(std::error_code code);

    [[nodiscard]] upload_steps block_steps() const;

    static constexpr int most_replaced = 8;  // by other writers of the same

    const dbfs_api& api_;  // the client keeps it
    const cloud_client client_;
    const std::string key_, temporary_;
    const bytes_view bytes_;
    const std::stop_token stop_;
    diagnostics& where_;
    store_handler<> done_;
    int replaced_ = 0;
    bool may_be_gone_ = false;  ///< the file that is replaced
  };

  [[nodiscard]] cloud_call directory(const std::string& key) const override {
    return question("list", key);
  }

  [[nodiscard]] cloud_call question(const char* what, const std::string& key) const;

  [[nodiscard]] cloud_call order(const char* what, const std::string& key,
                                 json::object about) const;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/dbfs/files.ipp>
#endif
