#pragma once

/// Directories of an SSH server, by SFTP. Needs a libcurl that has it: link mdstream::sftp.

#include <mdstream/core/warning.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/store/detail/sftp/listing.hpp>
#include <mdstream/store/store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::store {

/// Options of `store::sftp`.
struct sftp_options {
  std::string key_file{};  ///< your private key; default: COMPOSER_SFTP_KEY_FILE
  /// Of the key file, if it is encrypted; default: COMPOSER_SFTP_KEY_PASSPHRASE. It never appears
  /// in a message.
  std::string key_passphrase{};
  std::string known_hosts{};  ///< known servers; default: COMPOSER_SFTP_KNOWN_HOSTS_FILE, or
                              ///< ~/.ssh/known_hosts
  net::environment variables = net::process_environment();  ///< looks up the variables
  /// Gets a warning if everybody may read the key file, when the store is opened.
  warning_function warn = &warn_on_stderr;
  std::function<void(bytes_view)> body_read{};  ///< as `http_client_options::body_read`
};

}  // namespace mdstream::inline v0::store

namespace mdstream::inline v0::detail::sftp {
struct connections;
}  // namespace mdstream::inline v0::detail::sftp

namespace mdstream::inline v0::store {

/// Reads and writes files under `sftp://[user[:password]@]host[:port]/path`, an absolute path. The
/// server has to be known (known_hosts). You log in by a key file, the password of the URL, or the
/// keys of the SSH agent. Blocking; thread-safe; copies share connections.
///
/// Errors: `errc::permission_denied` if the server lets nobody in with that, and, when the store is
/// opened, if the key file is encrypted and there is no passphrase for it.
///
/// A write is a temporary file, then a rename. SFTP cannot rename over a file, so a file that is
/// replaced does not exist for a moment. A read opens the file; the connection stays open.
///
///     const mds::store::sftp folder("sftp://user@host/data/c4", {.key_file = "/keys/id_ed25519"});
class sftp {
 public:
  static constexpr std::string_view schemes = "sftp://";
  static constexpr unsigned most_links = 8;  ///< to directories, one within the other

  /// Throws `errc::invalid_argument` for what cannot be right. Connects later.
  explicit sftp(std::string_view url, const sftp_options& options = {});

  [[nodiscard]] static bool serves(std::string_view url);
  [[nodiscard]] static sftp open(std::string_view url, warning_function warn = &warn_on_stderr);

  [[nodiscard]] std::uint64_t size(std::string_view key) const;

  std::size_t read(std::string_view key, std::uint64_t offset, mutable_bytes into) const;

  void write(std::string_view key, bytes_view bytes) const;

  /// Follows links, those to directories up to eight deep. Leaves out the temporary files of
  /// unfinished writes. Throws `errc::corrupt` if a line of the server is not like those of
  /// `ls -l`, and `errc::unsupported` for links that lead back.
  [[nodiscard]] std::vector<object_info> list(std::string_view prefix) const;

  void remove(std::string_view key) const;

  /// Without user and password.
  [[nodiscard]] std::string url(std::string_view key) const;

 private:
  using entry = detail::sftp::entry;
  using entry_kind = detail::sftp::entry_kind;
  /// Sends a file and renames it.
  void put(const std::string& temporary, std::string_view key, bytes_view bytes) const;

  /// What a failed write has left goes, as far as the server answers, unless it may be all that
  /// there is of the object.
  [[nodiscard]] diagnostics after_failed(const std::string& temporary, std::string_view key,
                                         std::uint64_t bytes, diagnostics where) const;

  /// The directory of a key with its slash; empty for the root.
  [[nodiscard]] static std::string_view parent(std::string_view key);

  /// A path as libcurl's SFTP commands take it.
  [[nodiscard]] std::string quoted(std::string_view key) const;

  [[nodiscard]] bool is_directory(std::string_view key) const;
  [[nodiscard]] bool is_absent(std::string_view key) const;

  /// What a link leads to; `other` where there is nothing.
  [[nodiscard]] entry_kind kind_behind(std::string_view key) const;

  /// What is in a directory; nothing where there is no such.
  [[nodiscard]] std::vector<entry> entries(std::string_view directory) const;
  [[nodiscard]] std::optional<std::vector<entry>> entries_if(std::string_view directory) const;

  std::shared_ptr<detail::sftp::connections> shared_;
};

static_assert(blocking_store<sftp> && openable_store<sftp>);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/sftp.ipp>
#endif
