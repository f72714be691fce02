#pragma once

#include <mdstream/core/json/value.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/store/detail/cloud/upload.hpp>
#include <mdstream/store/detail/dbfs/volumes.hpp>
#include <mdstream/store/detail/http_range.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE object_version volumes_api::version(const net::http_response& answer) const {
  const auto bytes = mdstream::detail::content_length(answer.headers);
  if (!bytes) throw error(errc::corrupt, "Databricks does not tell the file's size");
  return {*bytes, std::string(answer.headers.find("Last-Modified").value_or(""))};
}

MDSTREAM_INLINE cloud_call volumes_api::get(const std::string& key,
                                            const object_version* held) const {
  cloud_call out = call("GET", "files", key);
  if (held != nullptr && !held->tag.empty()) {
    out.headers.push_back({"If-Unmodified-Since", held->tag});
  }
  return out;
}

MDSTREAM_INLINE void volumes_api::remove(const cloud_client& client, std::string key,
                                         std::stop_token stop, diagnostics& where,
                                         store_handler<> done) const {
  send_removal(client, call("DELETE", "files", key), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE cloud_page volumes_api::page(const cloud_call& asked,
                                             const net::http_response& answer) const {
  const json::value said = json::parse(answer.text);
  cloud_page out;
  if (const json::value* const contents = said.find("contents")) {
    for (const json::value& each : contents->as<json::array>("contents")) {
      const std::string path = each.get<std::string>("path");
      if (!path.starts_with(settings().volume + '/')) {
        throw error(errc::corrupt, "the listing has a path of another volume");
      }
      const std::string key = path.substr(settings().volume.size() + 1);
      if (!each.get<bool>("is_directory")) {
        out.objects.push_back({key, each.get<std::uint64_t>("file_size")});
      } else if (leads_on(asked, key)) {
        out.more.push_back(list_directory(key, asked.key));
      }
    }
  }
  const json::value* const next = said.find("next_page_token");
  if (next != nullptr && next->type() == json::kind::string && !next->as<std::string>().empty()) {
    out.more.push_back({.url = asked.url.substr(0, asked.url.find('?')) +
                               "?page_token=" + net::percent_encode(next->as<std::string>()),
                        .key = asked.key});
  }
  return out;
}

MDSTREAM_INLINE std::optional<cloud_call> volumes_api::place() const {
  std::string name = settings().volume.substr(std::string_view("/Volumes/").size());
  std::ranges::replace(name, '/', '.');
  return cloud_call{
      .url = settings().host + "/api/2.1/unity-catalog/volumes/" + net::percent_encode(name),
      .key = settings().root};
}

MDSTREAM_INLINE void volumes_api::write(const cloud_client& client, std::string key,
                                        bytes_view bytes, std::stop_token stop, diagnostics& where,
                                        store_handler<> done) const {
  put(client, std::move(key), bytes, false, std::move(stop), where,
      [done = std::move(done)](std::error_code code, bool) mutable { done(code); });
}

MDSTREAM_INLINE void volumes_api::create(const cloud_client& client, std::string key,
                                         bytes_view bytes, std::stop_token stop, diagnostics& where,
                                         store_handler<bool> done) const {
  put(client, std::move(key), bytes, true, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void volumes_api::put(const cloud_client& client, std::string key, bytes_view bytes,
                                      bool if_absent, std::stop_token stop, diagnostics& where,
                                      store_handler<bool> done) const {
  constexpr std::uint64_t most = std::uint64_t{5} << 30;
  if (bytes.size() > most) {
    where = {.what =
                 "a file of a volume has at most 5 GiB: a smaller size_limit makes smaller "
                 "shards",
             .url = url(key)};
    return done(errc::unsupported, false);
  }
  cloud_call put = call("PUT", "files", key);
  put.url += if_absent ? "?overwrite=false" : "?overwrite=true";
  put.headers.push_back({"Content-Type", "application/octet-stream"});
  put.body = bytes;
  client.async_send(
      put, stop, where,
      [this, client, key, put, stop, &where, done = std::move(done)](
          std::error_code code, const net::http_response& answer) mutable {
        if (code && was_there(answer)) {
          where = {};
          return done({}, false);
        }
        if (code != errc::not_found || answer.status != 404) return done(code, !code);
        make_directory(
            client, key.substr(0, key.rfind('/') + 1), stop, where,
            [client, put, stop, &where, done = std::move(done)](std::error_code failure) mutable {
              if (failure) return done(failure, false);
              send_creation(client, std::move(put), std::move(stop), where, std::move(done));
            });
      });
}

MDSTREAM_INLINE cloud_call volumes_api::call(std::string method, const char* kind,
                                             const std::string& key) const {
  return {.method = std::move(method),
          .url = settings().host + "/api/2.0/fs/" + kind +
                 net::percent_encode(settings().path(key), "/"),
          .key = key};
}

MDSTREAM_INLINE void volumes_api::make_directory(const cloud_client& client, const std::string& key,
                                                 std::stop_token stop, diagnostics& where,
                                                 store_handler<> done) const {
  where = {};
  std::make_shared<repeated_call>(
      client, part_retry(),
      [make = call("PUT", "directories", detail::cloud::without_slashes(key))] { return make; },
      std::move(stop),
      [&where, done = std::move(done)](std::error_code code, const net::http_response&,
                                       const diagnostics& about) mutable {
        if (code) where = about;
        done(code);
      })
      ->send();
}

}  // namespace mdstream::inline v0::detail
