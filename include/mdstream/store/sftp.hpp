#pragma once

/// Directories of an SSH server, by SFTP. Needs a libcurl that has it: link mdstream::sftp.

#include <mdstream/net/curl/handles.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/http_headers.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/net/uri.hpp>
#include <mdstream/store/file.hpp>
#include <mdstream/store/sftp/listing.hpp>
#include <mdstream/store/store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

struct sftp_options {
  std::string key_file{};     ///< unset: COMPOSER_SFTP_KEY_FILE
  std::string known_hosts{};  ///< unset: COMPOSER_SFTP_KNOWN_HOSTS_FILE, else ~/.ssh/known_hosts
  net::environment variables = net::process_environment();
  warning_function warn = &warn_on_stderr;
  std::function<void(bytes_view)> body_read{};  ///< as `net::http_client_options` has it
};

/// Files beneath `sftp://[user[:password]@]host[:port]/path`, an absolute path, literal. The server
/// has to be known (known_hosts), and lets in by a key file, the password of the URL or the agent's
/// keys. Blocking; thread-safe; copies share connections.
///
/// A write is a temporary file, then a rename. SFTP has no rename over a file that is there: where
/// one is replaced, there is none for a moment. A read opens the file; the connection stays.
class sftp {
 public:
  static constexpr std::string_view schemes = "sftp://";
  static constexpr unsigned most_links = 8;  ///< to directories, one within the other

  /// Throws `errc::invalid_argument` for what can not be right. Connects later.
  explicit sftp(std::string_view url, const sftp_options& options = {})
      : shared_(std::make_shared<shared>(url, options)) {}

  [[nodiscard]] static bool serves(std::string_view url) {
    return net::detail::to_lower(url_scheme(url)) == "sftp";
  }
  [[nodiscard]] static sftp open(std::string_view url, warning_function warn = &warn_on_stderr) {
    return sftp(url, {.warn = std::move(warn)});
  }

  [[nodiscard]] std::uint64_t size(std::string_view key) const {
    require_safe_key(key, url(""));
    session use(*shared_, key);
    use.set(CURLOPT_NOBODY, 1L);
    use.perform();
    curl_off_t bytes = -1;
    curl_easy_getinfo(use.easy(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &bytes);
    if (bytes >= 0 && !is_directory(key)) return static_cast<std::uint64_t>(bytes);
    for (const entry& each : entries(parent(key))) {  // what there is without a request for it
      if (each.name != key.substr(parent(key).size())) continue;
      if (each.kind == entry_kind::file) return each.bytes;
      // libcurl tells no size of what is empty alone.
      if (each.kind == entry_kind::link && !is_directory(key)) return 0;
    }
    throw error(errc::not_found, {.what = "there is no such file", .url = url(key)});
  }

  std::size_t read(std::string_view key, std::uint64_t offset, mutable_bytes into) const {
    require_safe_key(key, url(""));
    if (into.empty()) {
      (void)size(key);  // whether there is a file is told
      return 0;
    }
    session use(*shared_, key);
    const std::string range =
        std::to_string(offset) + '-' + std::to_string(offset + into.size() - 1);
    use.set(CURLOPT_RANGE, range.c_str());
    receiving target{into, 0};
    use.set(CURLOPT_WRITEFUNCTION, &take_into);
    use.set(CURLOPT_WRITEDATA, &target);
    if (use.try_perform() == CURLE_BAD_DOWNLOAD_RESUME) return 0;  // it ends before
    use.require();
    return target.got;
  }

  void write(std::string_view key, bytes_view bytes) const {
    require_safe_key(key, url(""));
    const std::string temporary =
        std::string(parent(key)) + ".mdstream-" + mdstream::detail::unique_name() + ".tmp";
    try {
      put(temporary, key, bytes);
    } catch (const error& e) {
      throw error(e.code(), after_failed(temporary, key, bytes.size(), e.where()));
    }
  }

  /// Links are followed, those to directories within eight others: further, one leads back. Left
  /// out are the temporary files of writes under way. Throws `errc::corrupt` where a server's line
  /// is not as `ls -l` has it, and `errc::unsupported` for links that lead back.
  [[nodiscard]] std::vector<object_info> list(std::string_view prefix) const {
    struct place {
      std::string directory;  // with a slash behind
      unsigned links;         // that lead to it
    };
    std::vector<object_info> found;
    std::vector<place> left{{std::string(parent(prefix)), 0}};
    while (!left.empty()) {
      const auto [directory, links] = std::move(left.back());
      left.pop_back();
      for (const entry& each : entries(directory)) {
        const std::string key = directory + each.name;
        const std::size_t common = std::min(key.size(), prefix.size());
        if (std::string_view(key).substr(0, common) != prefix.substr(0, common)) continue;
        const bool is_link = each.kind == entry_kind::link;
        const entry_kind kind = is_link ? kind_behind(key) : each.kind;
        if (kind == entry_kind::directory) {
          if (is_link && links == most_links) {
            throw error(
                errc::unsupported,
                {.what = "links to directories lead back to where they stand", .url = url(key)});
          }
          left.push_back({key + '/', links + (is_link ? 1 : 0)});
        }
        if (kind != entry_kind::file || key.size() < prefix.size()) continue;
        if (each.name.starts_with(".mdstream-")) continue;
        found.push_back({key, is_link ? size(key) : each.bytes});
      }
    }
    std::sort(found.begin(), found.end(),
              [](const object_info& a, const object_info& b) { return a.key < b.key; });
    return found;
  }

  void remove(std::string_view key) const {
    require_safe_key(key, url(""));
    session use(*shared_, "");
    net::detail::curl_list before;
    before.add("rm " + quoted(key));
    use.set(CURLOPT_NOBODY, 1L);
    use.set(CURLOPT_QUOTE, before.get());
    if (use.try_perform() == CURLE_QUOTE_ERROR && is_absent(key)) return;
    use.require();
  }

  /// Without user and password.
  [[nodiscard]] std::string url(std::string_view key) const {
    return shared_->shown + std::string(key);
  }

 private:
  using entry = sftp_detail::entry;
  using entry_kind = sftp_detail::entry_kind;
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

  struct shared {
    shared(std::string_view url, const sftp_options& options) : body_read(options.body_read) {
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
        return value.empty() ? options.variables(name).value_or("") : value;
      };
      key_file = or_else(options.key_file, "COMPOSER_SFTP_KEY_FILE");
      known_hosts = or_else(options.known_hosts, "COMPOSER_SFTP_KNOWN_HOSTS_FILE");
      if (known_hosts.empty()) {
        known_hosts = net::detail::in_home(options.variables, "~/.ssh/known_hosts");
      }
      if (!key_file.empty() && !net::detail::read_secret(key_file, options.warn)) {
        throw error(errc::permission_denied,
                    {.what = "there is no such key file, or it may not be read", .url = key_file});
      }
      net::detail::start_curl();
    }

    std::string origin, root, shown, user, password, key_file, known_hosts;
    std::function<void(bytes_view)> body_read;
    std::mutex mutex;
    std::vector<net::detail::curl_easy_handle> idle;  ///< with their connections
  };

  /// One handle in use; goes back with its connection.
  class session {
   public:
    session(shared& common, std::string_view key)
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
      set(CURLOPT_PROTOCOLS_STR, "sftp");
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
      }
      set(CURLOPT_SSH_AUTH_TYPES, ways);
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session() {
      const std::lock_guard lock(common_.mutex);
      curl_easy_reset(easy_.get());
      common_.idle.push_back(std::move(easy_));
    }

    [[nodiscard]] CURL* easy() const noexcept { return easy_.get(); }
    template <class Value>
    void set(CURLoption option, Value value) {
      net::detail::set_option(easy_.get(), option, value);
    }
    CURLcode try_perform() { return ended_ = curl_easy_perform(easy_.get()); }
    void perform() {
      try_perform();
      require();
    }
    /// Throws unless what was performed succeeded.
    void require() const {
      if (ended_ == CURLE_OK) return;
      std::string cause = text_[0] != '\0' ? text_ : curl_easy_strerror(ended_);
      throw error(code(),
                  {.what = "the SFTP request failed", .url = shown_, .cause = std::move(cause)});
    }

   private:
    [[nodiscard]] errc code() const {
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

    shared& common_;
    const std::string shown_, url_;
    net::detail::curl_easy_handle easy_;
    CURLcode ended_ = CURLE_OK;
    char text_[CURL_ERROR_SIZE] = {};
  };

  static int only_known(CURL*, const curl_khkey*, const curl_khkey*, curl_khmatch match, void*) {
    return match == CURLKHMATCH_OK ? CURLKHSTAT_FINE : CURLKHSTAT_REJECT;
  }
  static std::size_t drop(char*, std::size_t one, std::size_t count, void*) { return one * count; }
  static std::size_t take_into(char* data, std::size_t one, std::size_t count, void* to) {
    auto& target = *static_cast<receiving*>(to);
    if (one * count > target.into.size() - target.got) return 0;
    std::memcpy(target.into.data() + target.got, data, one * count);
    target.got += one * count;
    return one * count;
  }
  static std::size_t take_text(char* data, std::size_t one, std::size_t count, void* to) {
    constexpr std::size_t most = std::size_t{1} << 30;
    auto& text = *static_cast<std::string*>(to);
    if (text.size() > most) return 0;
    text.append(data, one * count);
    return one * count;
  }
  static std::size_t give_from(char* into, std::size_t one, std::size_t count,
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

  /// Sends a file and renames it.
  void put(const std::string& temporary, std::string_view key, bytes_view bytes) const {
    session use(*shared_, temporary);
    sending source{bytes, 0, &shared_->body_read};
    net::detail::curl_list after;
    after.add("*rm " + quoted(key));
    after.add("rename " + quoted(temporary) + ' ' + quoted(key));
    use.set(CURLOPT_UPLOAD, 1L);
    use.set(CURLOPT_FTP_CREATE_MISSING_DIRS, 1L);
    use.set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(bytes.size()));
    use.set(CURLOPT_READFUNCTION, &give_from);
    use.set(CURLOPT_READDATA, &source);
    use.set(CURLOPT_POSTQUOTE, after.get());
    use.try_perform();
    if (source.refused) std::rethrow_exception(source.refused);
    use.require();
  }

  /// What a failed write has left goes, as far as the server answers, unless it may be all that
  /// there is of the object.
  [[nodiscard]] diagnostics after_failed(const std::string& temporary, std::string_view key,
                                         std::uint64_t bytes, diagnostics where) const {
    try {
      if (size(temporary) == bytes && is_absent(key)) {
        where.what += "; an object that it was to replace is gone, and this file has the new one";
      } else {
        remove(temporary);
      }
    } catch (const error&) {  // there is none, or nobody answers
    }
    return where;
  }

  /// The directory of a key with its slash; empty for the root.
  [[nodiscard]] static std::string_view parent(std::string_view key) {
    const std::size_t slash = key.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : key.substr(0, slash + 1);
  }

  /// A path as libcurl's SFTP commands take it.
  [[nodiscard]] std::string quoted(std::string_view key) const {
    std::string out = "\"";
    for (const char c : shared_->root + std::string(key)) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + '"';
  }

  [[nodiscard]] bool is_directory(std::string_view key) const {
    return entries_if(std::string(key) + '/').has_value();
  }
  [[nodiscard]] bool is_absent(std::string_view key) const {
    try {
      (void)size(key);
      return false;
    } catch (const error& e) {
      return e.code() == errc::not_found && !is_directory(key);
    }
  }

  /// What a link leads to; `other` where there is nothing.
  [[nodiscard]] entry_kind kind_behind(std::string_view key) const {
    if (is_directory(key)) return entry_kind::directory;
    return is_absent(key) ? entry_kind::other : entry_kind::file;
  }

  /// What is in a directory; nothing where there is no such.
  [[nodiscard]] std::vector<entry> entries(std::string_view directory) const {
    return entries_if(directory).value_or(std::vector<entry>());
  }
  [[nodiscard]] std::optional<std::vector<entry>> entries_if(std::string_view directory) const {
    std::string text;
    session use(*shared_, directory);
    use.set(CURLOPT_WRITEFUNCTION, &take_text);
    use.set(CURLOPT_WRITEDATA, &text);
    if (use.try_perform() == CURLE_REMOTE_FILE_NOT_FOUND) return std::nullopt;
    use.require();
    std::vector<entry> out;
    for (std::string_view left = text; !left.empty();) {
      const std::size_t end = left.find('\n');
      try {
        entry one = sftp_detail::parse_entry(left.substr(0, end));
        if (one.name != "." && one.name != "..") out.push_back(std::move(one));
      } catch (error& e) {
        throw error(e.code(),
                    {.what = e.where().what, .url = url(directory), .cause = e.where().cause});
      }
      left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
    }
    return out;
  }

  std::shared_ptr<shared> shared_;
};

static_assert(blocking_store<sftp> && openable_store<sftp>);

}  // namespace mdstream::inline v0::store
