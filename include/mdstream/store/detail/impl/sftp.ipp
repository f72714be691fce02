#pragma once

#include <mdstream/core/detail/text.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/net/curl/handles.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/store/detail/sftp/session.hpp>
#include <mdstream/store/sftp.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

namespace mdstream::inline v0::store {

MDSTREAM_INLINE sftp::sftp(std::string_view url, const sftp_options& options)
    : shared_(std::make_shared<detail::sftp::connections>(
          url, options.key_file, options.key_passphrase, options.known_hosts, options.variables,
          options.warn, options.body_read)) {}

MDSTREAM_INLINE bool sftp::serves(std::string_view url) {
  return net::detail::to_lower(url_scheme(url)) == "sftp";
}

MDSTREAM_INLINE sftp sftp::open(std::string_view url, warning_function warn) {
  return sftp(url, {.warn = std::move(warn)});
}

MDSTREAM_INLINE std::uint64_t sftp::size(std::string_view key) const {
  require_safe_key(key, url(""));
  detail::sftp::session use(*shared_, key);
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

MDSTREAM_INLINE std::size_t sftp::read(std::string_view key, std::uint64_t offset,
                                       mutable_bytes into) const {
  require_safe_key(key, url(""));
  if (into.empty()) {
    (void)size(key);  // whether there is a file is told
    return 0;
  }
  detail::sftp::session use(*shared_, key);
  const std::string range = std::to_string(offset) + '-' + std::to_string(offset + into.size() - 1);
  use.set(CURLOPT_RANGE, range.c_str());
  detail::sftp::receiving target{into, 0};
  use.set(CURLOPT_WRITEFUNCTION, &detail::sftp::take_into);
  use.set(CURLOPT_WRITEDATA, &target);
  if (use.try_perform() == CURLE_BAD_DOWNLOAD_RESUME) return 0;  // it ends before
  use.require();
  return target.got;
}

MDSTREAM_INLINE void sftp::write(std::string_view key, bytes_view bytes) const {
  require_safe_key(key, url(""));
  const std::string temporary =
      std::string(parent(key)) + ".mdstream-" + mdstream::detail::unique_name() + ".tmp";
  try {
    put(temporary, key, bytes);
  } catch (const error& e) {
    throw error(e.code(), after_failed(temporary, key, bytes.size(), e.where()));
  }
}

MDSTREAM_INLINE std::vector<object_info> sftp::list(std::string_view prefix) const {
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

MDSTREAM_INLINE void sftp::remove(std::string_view key) const {
  require_safe_key(key, url(""));
  detail::sftp::session use(*shared_, "");
  net::detail::curl_list before;
  before.add("rm " + quoted(key));
  use.set(CURLOPT_NOBODY, 1L);
  use.set(CURLOPT_QUOTE, before.get());
  if (use.try_perform() == CURLE_QUOTE_ERROR && is_absent(key)) return;
  use.require();
}

MDSTREAM_INLINE std::string sftp::url(std::string_view key) const {
  return shared_->shown + std::string(key);
}

MDSTREAM_INLINE void sftp::put(const std::string& temporary, std::string_view key,
                               bytes_view bytes) const {
  detail::sftp::session use(*shared_, temporary);
  detail::sftp::sending source{bytes, 0, &shared_->body_read};
  net::detail::curl_list after;
  after.add("*rm " + quoted(key));
  after.add("rename " + quoted(temporary) + ' ' + quoted(key));
  use.set(CURLOPT_UPLOAD, 1L);
  use.set(CURLOPT_FTP_CREATE_MISSING_DIRS, 1L);
  use.set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(bytes.size()));
  use.set(CURLOPT_READFUNCTION, &detail::sftp::give_from);
  use.set(CURLOPT_READDATA, &source);
  use.set(CURLOPT_POSTQUOTE, after.get());
  use.try_perform();
  if (source.refused) std::rethrow_exception(source.refused);
  use.require();
}

MDSTREAM_INLINE diagnostics sftp::after_failed(const std::string& temporary, std::string_view key,
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

MDSTREAM_INLINE std::string_view sftp::parent(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : key.substr(0, slash + 1);
}

MDSTREAM_INLINE std::string sftp::quoted(std::string_view key) const {
  std::string out = "\"";
  for (const char c : shared_->root + std::string(key)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

MDSTREAM_INLINE bool sftp::is_directory(std::string_view key) const {
  return entries_if(std::string(key) + '/').has_value();
}

MDSTREAM_INLINE bool sftp::is_absent(std::string_view key) const {
  try {
    (void)size(key);
    return false;
  } catch (const error& e) {
    return e.code() == errc::not_found && !is_directory(key);
  }
}

MDSTREAM_INLINE sftp::entry_kind sftp::kind_behind(std::string_view key) const {
  if (is_directory(key)) return entry_kind::directory;
  return is_absent(key) ? entry_kind::other : entry_kind::file;
}

MDSTREAM_INLINE std::vector<sftp::entry> sftp::entries(std::string_view directory) const {
  return entries_if(directory).value_or(std::vector<entry>());
}

MDSTREAM_INLINE std::optional<std::vector<sftp::entry>> sftp::entries_if(
    std::string_view directory) const {
  std::string text;
  detail::sftp::session use(*shared_, directory);
  use.set(CURLOPT_WRITEFUNCTION, &detail::sftp::take_text);
  use.set(CURLOPT_WRITEDATA, &text);
  if (use.try_perform() == CURLE_REMOTE_FILE_NOT_FOUND) return std::nullopt;
  use.require();
  std::vector<entry> out;
  for (std::string_view left = text; !left.empty();) {
    const std::size_t end = left.find('\n');
    try {
      entry one = detail::sftp::parse_entry(left.substr(0, end));
      if (one.name != "." && one.name != "..") out.push_back(std::move(one));
    } catch (error& e) {
      throw error(e.code(),
                  {.what = e.where().what, .url = url(directory), .cause = e.where().cause});
    }
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
  }
  return out;
}

}  // namespace mdstream::inline v0::store
