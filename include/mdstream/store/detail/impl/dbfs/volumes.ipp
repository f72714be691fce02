#pragma once

#include <mdstream/core/detail/text.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/time_text.hpp>
#include <mdstream/store/detail/cloud/settings.hpp>
#include <mdstream/store/detail/cloud/upload.hpp>
#include <mdstream/store/detail/dbfs/volumes.hpp>
#include <mdstream/store/detail/gs/session.hpp>
#include <mdstream/store/detail/http_range.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

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

struct volumes_api::upload : std::enable_shared_from_this<upload> {
  upload(const volumes_api& a, cloud_client c, std::string k, bytes_view b, bool absent,
         std::stop_token s, diagnostics& w, store_handler<bool> d)
      : api(a),
        client(std::move(c)),
        key(std::move(k)),
        bytes(b),
        if_absent(absent),
        stop(std::move(s)),
        where(w),
        done(std::move(d)) {}

  void begin() { bytes.size() > api.most_whole_ ? send_parts() : send_whole(); }

  [[nodiscard]] const char* overwrite() const {
    return if_absent ? "overwrite=false" : "overwrite=true";
  }

  void send_whole() {
    cloud_call put = api.call("PUT", "files", key);
    put.url += std::string("?") + overwrite();
    put.headers.push_back({"Content-Type", "application/octet-stream"});
    put.body = bytes;
    client.async_send(
        std::move(put), stop, where,
        [self = shared_from_this()](std::error_code code, const net::http_response& answer) {
          if (code && self->stands_back(answer)) code = {};
          self->take(code, code == errc::not_found && answer.status == 404);
        });
  }

  void send_parts() {
    std::make_shared<repeated_call>(
        client, api.part_retry(), [self = shared_from_this()] { return self->initiation(); }, stop,
        [self = shared_from_this()](std::error_code code, const net::http_response& answer,
                                    const diagnostics& about) {
          self->where = about;
          if (code && self->stands_back(answer)) code = {};
          if (code || !self->is_written)
            return self->take(code, code == errc::not_found && answer.status == 404);
          self->begin_session(answer);
        })
        ->send();
  }

  /// In parts of S3 and Azure, or by a resumable session of Google, as the volume's cloud has it.
  void begin_session(const net::http_response& answer) {
    try {
      const json::value said = json::parse(answer.text);
      const json::value* const resumable = said.find("resumable_upload");
      const json::value& kind = resumable == nullptr ? said.at("multipart_upload") : *resumable;
      session = kind.get<std::string>("session_token");
      auto end = [self = shared_from_this()](std::error_code code) { self->take(code, false); };
      if (resumable != nullptr) {
        return std::make_shared<gs_session_upload>(client, plan_of_google(), google_session(),
                                                   bytes, stop, where, std::move(end))
            ->begin();
      }
      std::make_shared<part_upload>(client, api.plan_, steps(), bytes, stop, where, std::move(end))
          ->begin();
    } catch (const error& e) {
      where = e.where();
      where.url = api.url(key);
      done(e.code(), false);
    }
  }

  /// Parts of a session are multiples of 256 KiB.
  [[nodiscard]] upload_plan plan_of_google() const {
    constexpr std::uint64_t unit = 256 << 10;
    upload_plan out = api.plan_;
    out.part_bytes = std::max((out.part_bytes + unit - 1) / unit, std::uint64_t{1}) * unit;
    return out;
  }

  [[nodiscard]] gs_upload google_session() {
    const auto self = shared_from_this();
    return {.key = key,
            .open = ask_url("create-resumable-upload-url", {}, false),
            .read_session =
                [self](const net::http_response& answer) {
                  const json::value said = json::parse(answer.text);
                  cloud_call call = self->signed_call("PUT", said.at("resumable_upload_url"));
                  return gs::upload_session{.url = std::move(call.url),
                                            .keyless = true,
                                            .headers = std::move(call.headers)};
                },
            .require_whole = [](const net::http_response&) {}};
  }

  void take(std::error_code code, bool lacks_directory) {
    if (!lacks_directory || made_directory) {
      if (!is_written) where = {};
      return done(code, !code && is_written);
    }
    made_directory = true;
    api.make_directory(client, key.substr(0, key.rfind('/') + 1), stop, where,
                       [self = shared_from_this()](std::error_code failure) {
                         failure ? self->done(failure, false) : self->begin();
                       });
  }

  /// Whether there is a file that is not to be replaced.
  [[nodiscard]] bool stands_back(const net::http_response& answer) {
    if (if_absent && api.was_there(answer)) is_written = false;
    return !is_written;
  }

  [[nodiscard]] upload_steps steps() {
    const auto self = shared_from_this();
    const std::uint64_t part_size = api.plan_.part_size(bytes.size());
    const auto count = static_cast<std::size_t>((bytes.size() + part_size - 1) / part_size);
    places.assign(count, {});
    tags.assign(count, {});
    upload_steps out;
    out.prepare = [self](std::size_t number) {
      return self->ask_url("create-upload-part-urls",
                           {{"start_part_number", number + 1}, {"count", 1}});
    };
    out.prepared = [self](std::size_t number, const net::http_response& answer) {
      const json::value said = json::parse(answer.text);
      const auto& given = said.get<json::array>("upload_part_urls");
      if (given.size() != 1 || given[0].get<std::uint64_t>("part_number") != number + 1) {
        throw error(errc::corrupt, "Databricks gives a URL for another part than was asked for");
      }
      self->places[number] = self->signed_call("PUT", given[0]);
    };
    out.has_expired = [](const net::http_response& answer) { return answer.status == 403; };
    out.part = [self](std::size_t number, std::uint64_t, bytes_view part) {
      cloud_call call = self->places[number];
      call.body = part;
      return call;
    };
    out.took = [self](std::size_t number, std::uint64_t, bytes_view,
                      const net::http_response& answer) {
      self->tags[number] = answer.headers.find("ETag").value_or("");  // Azure's blocks have none
    };
    out.finish = [self] { return self->completion(); };
    out.abort = [self] { return self->ask_url("create-abort-upload-url", {}); };
    out.abort_as = [self](const net::http_response& answer) {
      const json::value said = json::parse(answer.text);
      cloud_call call = self->signed_call("DELETE", said.at("abort_upload_url"));
      call.body = bytes_view();
      return call;
    };
    out.stands_back = [self](const net::http_response& answer) {
      return self->stands_back(answer);
    };
    return out;
  }

  [[nodiscard]] cloud_call initiation() const {
    return post(std::string("?action=initiate-upload&") + overwrite(), {});
  }

  [[nodiscard]] cloud_call post(const std::string& query, std::optional<json::object> body) const {
    cloud_call out = api.call("POST", "files", key);
    out.url += query;
    out.secret_query = true;
    if (body) {
      out.headers.push_back({"Content-Type", "application/json"});
      out.text = std::make_shared<const std::string>(json::dump(*std::move(body)));
    } else {
      out.body = bytes_view();
    }
    return out;
  }

  [[nodiscard]] cloud_call completion() const {
    json::array parts;
    for (std::size_t i = 0; i < tags.size(); ++i) {
      parts.push_back(json::object{{"part_number", i + 1}, {"etag", tags[i]}});
    }
    cloud_call out = post("?action=complete-upload&upload_type=multipart&session_token=" +
                              net::percent_encode(session),
                          json::object{{"parts", std::move(parts)}});
    out.is_slow = true;
    return out;
  }

  /// Asks for a URL for one of the parts, or for the end; `ends`: it expires after an hour.
  [[nodiscard]] cloud_call ask_url(const char* what, json::object more, bool ends = true) const {
    json::object body{{"path", api.settings().path(key)}, {"session_token", session}};
    for (auto& [name, value] : more) body.emplace_back(std::move(name), std::move(value));
    if (ends) {
      body.emplace_back("expire_time", net::iso_timestamp(client.now() + std::chrono::hours(1)));
    }
    return {.method = "POST",
            .url = api.settings().host + "/api/2.0/fs/" + what,
            .key = key,
            .headers = {{"Content-Type", "application/json"}},
            .text = std::make_shared<const std::string>(json::dump(std::move(body)))};
  }

  /// The request that such an answer allows. No credentials go along.
  [[nodiscard]] cloud_call signed_call(std::string method, const json::value& given) const {
    cloud_call out{.method = std::move(method),
                   .url = given.get<std::string>("url"),
                   .key = key,
                   .headers = {{"Content-Type", "application/octet-stream"}},
                   .keyless = true};
    detail::cloud::require_signed_url(out.url, net::parse_http_url(api.settings().host).value(),
                                      "Databricks has the file sent to where it must not go:");
    if (const json::value* const headers = given.find("headers")) {
      for (const json::value& each : headers->as<json::array>("headers")) {
        const std::string name = each.get<std::string>("name");
        std::erase_if(out.headers, [&](const net::http_header& one) {
          return equal_ignoring_case(one.name, name);
        });
        out.headers.push_back({name, each.get<std::string>("value")});
      }
    }
    return out;
  }

  const volumes_api& api;  // of the client
  const cloud_client client;
  const std::string key;
  const bytes_view bytes;
  const bool if_absent;
  const std::stop_token stop;
  diagnostics& where;
  store_handler<bool> done;
  bool made_directory = false;
  bool is_written = true;  ///< false: there was a file
  std::string session{};
  std::vector<cloud_call> places{};  // of the parts
  std::vector<std::string> tags{};
};

MDSTREAM_INLINE void volumes_api::put(const cloud_client& client, std::string key, bytes_view bytes,
                                      bool if_absent, std::stop_token stop, diagnostics& where,
                                      store_handler<bool> done) const {
  std::make_shared<upload>(*this, client, std::move(key), bytes, if_absent, std::move(stop), where,
                           std::move(done))
      ->begin();
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
