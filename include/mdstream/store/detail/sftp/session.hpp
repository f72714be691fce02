#pragma once

/// Requests to an SFTP server by libcurl's handles, each with its connection.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/net/curl/handles.hpp>
#include <mdstream/net/environment.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail::sftp {

struct receiving {
  mutable_bytes into;
  std::size_t got;
};
struct sending {
  bytes_view from;
  std::size_t given;
  const std::function<void(bytes_view)>* body_read;
  std::exception_ptr refused{};  ///< what that threw
};

int only_known(CURL*, const curl_khkey*, const curl_khkey*, curl_khmatch match, void*);
std::size_t drop(char*, std::size_t one, std::size_t count, void*);
std::size_t take_into(char* data, std::size_t one, std::size_t count, void* to);
std::size_t take_text(char* data, std::size_t one, std::size_t count, void* to);
std::size_t give_from(char* into, std::size_t one, std::size_t count, void* from) noexcept;

/// The server, and handles with their connections.
struct connections {
  connections(std::string_view url, const std::string& given_key_file,
              const std::string& given_passphrase, const std::string& given_known_hosts,
              const net::environment& variables, const warning_function& warn,
              std::function<void(bytes_view)> read);

  /// Throws `errc::permission_denied` if there is no such key, or no passphrase for it.
  void check_key(const warning_function& warn);

  std::string origin, root, shown, user, password, key_file, passphrase, known_hosts;
  bool is_encrypted = false;  ///< the key file
  std::function<void(bytes_view)> body_read;
  std::mutex mutex;
  std::vector<net::detail::curl_easy_handle> idle;  ///< with their connections
};

/// One handle in use; goes back with its connection.
class session {
 public:
  session(connections& common, std::string_view key);
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session();

  [[nodiscard]] CURL* easy() const noexcept;
  template <class Value>
  void set(CURLoption option, Value value) {
    net::detail::set_option(easy_.get(), option, value);
  }
  CURLcode try_perform();
  void perform();
  /// Throws unless what was performed succeeded.
  void require() const;

 private:
  [[nodiscard]] errc code() const;
  /// What can be done about a login that the server refused.
  [[nodiscard]] std::string advice() const;

  connections& common_;
  const std::string shown_, url_;
  net::detail::curl_easy_handle easy_;
  CURLcode ended_ = CURLE_OK;
  char text_[CURL_ERROR_SIZE] = {};
};

}  // namespace mdstream::inline v0::detail::sftp

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/sftp/session.ipp>
#endif
