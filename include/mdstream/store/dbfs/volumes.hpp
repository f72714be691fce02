#pragma once

/// Unity Catalog's volumes as a `cloud_api`. Needs libcurl: link mdstream::dbfs. Source:
/// Databricks' Files API, version 2.0.

#include <mdstream/core/json/value.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/store/cloud/client.hpp>
#include <mdstream/store/cloud/upload.hpp>
#include <mdstream/store/dbfs/workspace_api.hpp>
#include <mdstream/store/detail/http_range.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::store {

/// A volume's files. Their versions are told apart by the second of their last change.
class volumes_api final : public workspace_api {
 public:
  using workspace_api::workspace_api;

  [[nodiscard]] cloud_call look(const std::string& key) const override {
    return call("HEAD", "files", key);
  }
  [[nodiscard]] object_version version(const net::http_response& answer) const override {
    const auto bytes = mdstream::detail::content_length(answer.headers);
    if (!bytes) throw error(errc::corrupt, "Databricks does not tell the file's size");
    return {*bytes, std::string(answer.headers.find("Last-Modified").value_or(""))};
  }

  [[nodiscard]] cloud_call get(const std::string& key, const object_version* held) const override {
    cloud_call out = call("GET", "files", key);
    if (held != nullptr && !held->tag.empty()) {
      out.headers.push_back({"If-Unmodified-Since", held->tag});
    }
    return out;
  }
  [[nodiscard]] bool tags_are_etags() const override { return false; }

  void remove(const cloud_client& client, std::string key, std::stop_token stop, diagnostics& where,
              store_handler<> done) const override {
    send_removal(client, call("DELETE", "files", key), std::move(stop), where, std::move(done));
  }

  [[nodiscard]] cloud_page page(const cloud_call& asked,
                                const net::http_response& answer) const override {
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

  /// By Unity Catalog's API: the Files API answers alike for an empty volume and for none.
  [[nodiscard]] std::optional<cloud_call> place() const override {
    std::string name = settings().volume.substr(std::string_view("/Volumes/").size());
    std::ranges::replace(name, '/', '.');
    return cloud_call{
        .url = settings().host + "/api/2.1/unity-catalog/volumes/" + net::percent_encode(name),
        .key = settings().root};
  }

  /// One PUT; where the directory is not there, it is made and the file sent again.
  void write(const cloud_client& client, std::string key, bytes_view bytes, std::stop_token stop,
             diagnostics& where, store_handler<> done) const override {
    constexpr std::uint64_t most = std::uint64_t{5} << 30;
    if (bytes.size() > most) {
      where = {.what =
                   "a file of a volume has at most 5 GiB: a smaller size_limit makes smaller "
                   "shards",
               .url = url(key)};
      return done(errc::unsupported);
    }
    const auto put = [this, client, key, bytes] {
      cloud_call out = call("PUT", "files", key);
      out.url += "?overwrite=true";
      out.headers.push_back({"Content-Type", "application/octet-stream"});
      out.body = bytes;
      return out;
    };
    client.async_send(
        put(), stop, where,
        [this, client, key, put, stop, &where, done = std::move(done)](
            std::error_code code, const net::http_response& answer) mutable {
          if (code != errc::not_found || answer.status != 404) return done(code);
          make_directory(
              client, key.substr(0, key.rfind('/') + 1), stop, where,
              [client, put, stop, &where, done = std::move(done)](std::error_code failure) mutable {
                if (failure) return done(failure);
                client.async_send(
                    put(), std::move(stop), where,
                    [done = std::move(done)](std::error_code c, const net::http_response&) mutable {
                      done(c);
                    });
              });
        });
  }

 private:
  [[nodiscard]] cloud_call directory(const std::string& key) const override {
    return call("GET", "directories", key);
  }
  [[nodiscard]] cloud_call call(std::string method, const char* kind,
                                const std::string& key) const {
    return {.method = std::move(method),
            .url = settings().host + "/api/2.0/fs/" + kind +
                   net::percent_encode(settings().path(key), "/"),
            .key = key};
  }

  /// With those above it.
  void make_directory(const cloud_client& client, const std::string& key, std::stop_token stop,
                      diagnostics& where, store_handler<> done) const {
    where = {};
    std::make_shared<repeated_call>(
        client, part_retry(),
        [make = call("PUT", "directories", cloud_detail::without_slashes(key))] { return make; },
        std::move(stop),
        [&where, done = std::move(done)](std::error_code code, const net::http_response&,
                                         const diagnostics& about) mutable {
          if (code) where = about;
          done(code);
        })
        ->send();
  }
};

}  // namespace mdstream::inline v0::store
