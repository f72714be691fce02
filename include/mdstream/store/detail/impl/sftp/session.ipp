#pragma once

#include <mdstream/core/bytes.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/net/uri.hpp>
#include <mdstream/store/detail/sftp/key_file.hpp>
#include <mdstream/store/detail/sftp/session.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace mdstream::inline v0::detail::sftp {

MDSTREAM_INLINE int only_known(CURL*, const curl_khkey*, const curl_khkey*, curl_khmatch match,
                               void*) {
  return match == CURLKHMATCH_OK ? CURLKHSTAT_FINE : CURLKHSTAT_REJECT;
}

MDSTREAM_INLINE std::size_t drop(char*, std::size_t one, std::size_t count, void*) {
  return one * count;
}

MDSTREAM_INLINE std::size_t take_into(char* data, std::size_t one, std::size_t count, void* to) {
  auto& target = *static_cast<receiving*>(to);
  if (one * count > target.into.size() - target.got) return 0;
  std::memcpy(target.into.data() + target.got, data, one * count);
  target.got += one * count;
  return one * count;
}

MDSTREAM_INLINE std::size_t take_text(char* data, std::size_t one, std::size_t count, void* to) {
  constexpr std::size_t most = std::size_t{1} << 30;
  auto& text = *static_cast<std::string*>(to);
  if (text.size() > most) return 0;
  text.append(data, one * count);
  return one * count;
}

MDSTREAM_INLINE std::size_t give_from(char* into, std::size_t one, std::size_t count,
                                      void* from) noexcept {
  auto& source = *static_cast<sending*>(from);
  const std::size_t given = std::min(one * count, source.from.size() - source.given);
  const bytes_view some = source.from.subspan(source.given, given);
  if (given > 0) std::memcpy(into, some.data(), given);
  try {
    if (given > 0 && *source.body_read) (*source.body_read)(some);
  } catch (...) {
    source.refused = std::current_exception();
    return CURL_READFUNC_ABORT;
  }
  source.given += given;
  return given;
}

MDSTREAM_INLINE connections::connections(std::string_view url, const std::string& given_key_file,
                                         const std::string& given_passphrase,
                                         const std::string& given_known_hosts,
                                         const net::environment& variables,
                                         const warning_function& warn,
                                         std::function<void(bytes_view)> read)
    : body_read(std::move(read)) {
  const std::size_t path = std::min(url.find('/', url.find("://") + 3), url.size());
  const net::uri parts = net::parse_uri(url.substr(0, path));
  if (url.find_first_of("?#", path) != std::string_view::npos) {
    throw error(errc::invalid_argument, {.what = "an sftp:// URL has no query and no fragment",
                                         .url = net::public_form(parts)});
  }
  const std::size_t colon = parts.user_info.find(':');
  user = net::percent_decode(std::string_view(parts.user_info).substr(0, colon)).value_or("");
  if (colon != std::string::npos) {
    password =
        net::percent_decode(std::string_view(parts.user_info).substr(colon + 1)).value_or("");
  }
  root = url.substr(path);
  if (!root.ends_with('/')) root += '/';
  origin = parts.origin();
  shown = origin + root;
  const auto or_else = [&](const std::string& value, const char* name) {
    return value.empty() ? variables(name).value_or("") : value;
  };
  key_file = or_else(given_key_file, "COMPOSER_SFTP_KEY_FILE");
  passphrase = or_else(given_passphrase, "COMPOSER_SFTP_KEY_PASSPHRASE");
  known_hosts = or_else(given_known_hosts, "COMPOSER_SFTP_KNOWN_HOSTS_FILE");
  if (known_hosts.empty()) {
    known_hosts = net::detail::in_home(variables, "~/.ssh/known_hosts");
  }
  if (!key_file.empty()) check_key(warn);
  net::detail::start_curl();
}

MDSTREAM_INLINE void connections::check_key(const warning_function& warn) {
  const auto key = net::detail::read_secret(key_file, warn);
  if (!key) {
    throw error(errc::permission_denied,
                {.what = "there is no such key file, or it may not be read", .url = key_file});
  }
  is_encrypted = is_encrypted_key(*key);
  if (is_encrypted && passphrase.empty()) {
    throw error(errc::permission_denied,
                {.what = "the key file is encrypted, and there is no passphrase for it: set "
                         "COMPOSER_SFTP_KEY_PASSPHRASE or the option key_passphrase, or leave the "
                         "key file out and add the key to the SSH agent (ssh-add)",
                 .url = key_file});
  }
}

MDSTREAM_INLINE session::session(connections& common, std::string_view key)
    : common_(common),
      shown_(common.shown + std::string(key)),
      url_(common.origin + net::percent_encode(common.root + std::string(key), "/")) {
  {
    const std::lock_guard lock(common.mutex);
    if (!common.idle.empty()) {
      easy_ = std::move(common.idle.back());
      common.idle.pop_back();
    }
  }
  if (!easy_) easy_ = net::detail::make_curl_easy();
  curl_easy_reset(easy_.get());
  set(CURLOPT_URL, url_.c_str());
  set(net::detail::protocols_option, net::detail::sftp_protocol);
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(text_));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT, 10L);
  set(CURLOPT_LOW_SPEED_LIMIT, 1024L);
  set(CURLOPT_LOW_SPEED_TIME, 20L);
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_WRITEFUNCTION, &drop);
  set(CURLOPT_SSH_KNOWNHOSTS, common.known_hosts.c_str());
  set(CURLOPT_SSH_KEYFUNCTION, &only_known);
  long ways = CURLSSH_AUTH_AGENT;
  if (!common.user.empty()) set(CURLOPT_USERNAME, common.user.c_str());
  if (!common.password.empty()) {
    ways = CURLSSH_AUTH_PASSWORD | CURLSSH_AUTH_KEYBOARD;
    set(CURLOPT_PASSWORD, common.password.c_str());
  }
  if (!common.key_file.empty()) {
    ways = CURLSSH_AUTH_PUBLICKEY;
    set(CURLOPT_SSH_PRIVATE_KEYFILE, common.key_file.c_str());
    if (!common.passphrase.empty()) set(CURLOPT_KEYPASSWD, common.passphrase.c_str());
  }
  set(CURLOPT_SSH_AUTH_TYPES, ways);
}

MDSTREAM_INLINE session::~session() {
  // libcurl leaves the file open on the connection if it ends before what was asked for: with the
  // connection the server closes it.
  if (ended_ == CURLE_BAD_DOWNLOAD_RESUME) return;
  const std::lock_guard lock(common_.mutex);
  curl_easy_reset(easy_.get());
  common_.idle.push_back(std::move(easy_));
}

MDSTREAM_INLINE CURL* session::easy() const noexcept { return easy_.get(); }

MDSTREAM_INLINE CURLcode session::try_perform() {
  ended_ = curl_easy_perform(easy_.get());
  // SFTP has no redirects: libcurl 8.14 takes an empty file on a used connection for a connection
  // that broke, and asks until it counts too many of them (curl/curl#19165).
  if (ended_ == CURLE_TOO_MANY_REDIRECTS) {
    set(CURLOPT_FRESH_CONNECT, 1L);
    ended_ = curl_easy_perform(easy_.get());
  }
  return ended_;
}

MDSTREAM_INLINE void session::perform() {
  try_perform();
  require();
}

MDSTREAM_INLINE void session::require() const {
  if (ended_ == CURLE_OK) return;
  std::string cause = text_[0] != '\0' ? text_ : curl_easy_strerror(ended_);
  throw error(
      code(),
      {.what = "the SFTP request failed" + advice(), .url = shown_, .cause = std::move(cause)});
}

MDSTREAM_INLINE std::string session::advice() const {
  if (ended_ != CURLE_LOGIN_DENIED) return {};
  if (common_.is_encrypted) {
    return ": the passphrase is not that of the key file " + common_.key_file +
           ", or the server does not take the key";
  }
  if (!common_.key_file.empty()) return ": the server does not take the key " + common_.key_file;
  if (!common_.password.empty()) return ": the server does not take the password of the URL";
  return ": the server takes none of the keys of the SSH agent, or there is no agent "
         "(SSH_AUTH_SOCK); name a key file by COMPOSER_SFTP_KEY_FILE";
}

MDSTREAM_INLINE errc session::code() const {
  switch (ended_) {
    case CURLE_REMOTE_FILE_NOT_FOUND: return errc::not_found;
    case CURLE_LOGIN_DENIED:
    case CURLE_REMOTE_ACCESS_DENIED:
    case CURLE_PEER_FAILED_VERIFICATION: return errc::permission_denied;
    case CURLE_REMOTE_DISK_FULL: return errc::no_space;
    case CURLE_UNSUPPORTED_PROTOCOL: return errc::unsupported;  // a libcurl without SFTP
    case CURLE_QUOTE_ERROR: return errc::io_error;
    default: return errc::unavailable;
  }
}

}  // namespace mdstream::inline v0::detail::sftp
