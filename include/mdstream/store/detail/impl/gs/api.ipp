#pragma once

#include <mdstream/core/detail/blocks.hpp>
#include <mdstream/core/detail/chance.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/net/detail/google_variables.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/store/detail/cloud/checksums.hpp>
#include <mdstream/store/detail/digest.hpp>
#include <mdstream/store/detail/gs/api.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>

namespace mdstream::inline v0::detail::gs {

MDSTREAM_INLINE std::uint64_t number_of(const json::value& in, const char* name) {
  const auto found = net::detail::whole_number<std::uint64_t>(in.get<std::string>(name));
  if (!found) throw error(errc::corrupt, "the object's \"" + std::string(name) + "\" is no number");
  return *found;
}

MDSTREAM_INLINE std::uint64_t stored_bytes(const json::value& object) {
  return object.find("size") == nullptr ? 0 : number_of(object, "size");
}

MDSTREAM_INLINE std::string digest_of(const json::value& object) {
  const auto one = [&](const char* field, const char* name, std::size_t bytes) {
    if (object.find(field) == nullptr) return std::string();
    return digest_of_base64(name, bytes, object.get<std::string>(field));
  };
  const std::string md5 = one("md5Hash", "md5", 16), crc = one("crc32c", "crc32c", 4);
  return md5 + (md5.empty() || crc.empty() ? "" : " ") + crc;
}

MDSTREAM_INLINE std::optional<std::string> crc_of(const net::http_headers& headers) {
  for (const net::http_header& each : headers) {
    if (!net::detail::equal_ignoring_case(each.name, "x-goog-hash")) continue;
    constexpr std::string_view mark = "crc32c=";
    const std::size_t at = each.value.find(mark);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + mark.size();
    return each.value.substr(begin, each.value.find(',', begin) - begin);
  }
  return std::nullopt;
}

MDSTREAM_INLINE void crc_check::finish() {
  if (detail::cloud::crc32c_text(crc_) == wanted_) return;
  throw error(errc::corrupt, "the bytes that came have another CRC32C than the object");
}

}  // namespace mdstream::inline v0::detail::gs

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE gs_api::gs_api(gs_settings settings, upload_plan plan)
    : cloud_api(plan.retry),
      settings_(std::move(settings)),
      objects_(settings_.endpoint + "/storage/v1/b/" + net::percent_encode(settings_.bucket) +
               "/o"),
      uploads_(settings_.endpoint + "/upload/storage/v1/b/" +
               net::percent_encode(settings_.bucket) + "/o"),
      plan_(plan) {
  constexpr std::uint64_t unit = 256 << 10;  // of all parts but the last
  plan_.part_bytes = std::max(plan_.part_bytes / unit, std::uint64_t{1}) * unit;
}

MDSTREAM_INLINE std::string gs_api::url(std::string_view key) const {
  return "gs://" + settings_.bucket + (key.empty() ? "" : "/") + std::string(key);
}

MDSTREAM_INLINE cloud_refusal gs_api::refusal(const net::http_response& answer) const {
  cloud_refusal out;
  try {
    const json::value said = json::parse(answer.text);
    const json::value& failure = said.at("error");
    out.message = failure.get<std::string>("message");
    // Of an upload, whose bytes were lost on the way.
    if (answer.status == 400 && out.message.find("CRC32C") != std::string::npos) {
      out.failure = errc::unavailable;
    }
  } catch (const error&) {
  }
  return out;
}

MDSTREAM_INLINE object_version gs_api::version(const net::http_response& answer) const {
  const json::value found = json::parse(answer.text);
  return {detail::gs::stored_bytes(found), found.get<std::string>("generation"),
          detail::gs::digest_of(found)};
}

MDSTREAM_INLINE cloud_call gs_api::get(const std::string& key, const object_version* held) const {
  const bool holds = held != nullptr && !held->tag.empty();
  cloud_call out =
      object(key, "?alt=media" + (holds ? "&ifGenerationMatch=" + net::percent_encode(held->tag)
                                        : std::string()));
  // What is stored as gzip comes as it is stored, of the size that a listing tells; else the
  // service would unpack it on the way.
  out.headers.push_back({"Accept-Encoding", "gzip"});
  return out;
}

MDSTREAM_INLINE std::unique_ptr<cloud_check> gs_api::check(const net::http_response& head) const {
  // Of an object that was unpacked on the way all the same, the checksum is that of other bytes.
  const auto stored = head.headers.find("x-goog-stored-content-encoding");
  const bool unpacked = stored && *stored != "identity" && !head.headers.find("Content-Encoding");
  auto crc = detail::gs::crc_of(head.headers);
  if (!crc || unpacked) return nullptr;
  return std::make_unique<detail::gs::crc_check>(*std::move(crc));
}

MDSTREAM_INLINE void gs_api::remove(const cloud_client& client, std::string key,
                                    std::stop_token stop, diagnostics& where,
                                    store_handler<> done) const {
  cloud_call call = object(key, "");
  call.method = "DELETE";
  send_removal(client, std::move(call), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE cloud_call gs_api::list(const std::string& prefix) const {
  return paid({.url = objects_ +
                      "?fields=items(name,size,generation,md5Hash,crc32c),nextPageToken&prefix=" +
                      net::percent_encode(prefix),
               .key = prefix});
}

MDSTREAM_INLINE cloud_page gs_api::page(const cloud_call& asked,
                                        const net::http_response& answer) const {
  const json::value said = json::parse(answer.text);
  cloud_page out;
  if (const json::value* const items = said.find("items")) {
    for (const json::value& each : items->as<json::array>("items")) {
      out.objects.push_back({each.get<std::string>("name"), detail::gs::stored_bytes(each),
                             detail::gs::digest_of(each),
                             each.find("generation") == nullptr
                                 ? std::string()
                                 : each.get<std::string>("generation")});
    }
  }
  if (said.find("nextPageToken") != nullptr) {
    cloud_call more = list(asked.key);
    more.url += "&pageToken=" + net::percent_encode(said.get<std::string>("nextPageToken"));
    out.more.push_back(std::move(more));
  }
  return out;
}

MDSTREAM_INLINE void gs_api::write(const cloud_client& client, std::string key, bytes_view bytes,
                                   std::stop_token stop, diagnostics& where,
                                   store_handler<> done) const {
  put(client, std::move(key), bytes, false, std::move(stop), where,
      [done = std::move(done)](std::error_code code, bool) mutable { done(code); });
}

MDSTREAM_INLINE void gs_api::create(const cloud_client& client, std::string key, bytes_view bytes,
                                    std::stop_token stop, diagnostics& where,
                                    store_handler<bool> done) const {
  put(client, std::move(key), bytes, true, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void gs_api::put(const cloud_client& client, std::string key, bytes_view bytes,
                                 bool if_absent, std::stop_token stop, diagnostics& where,
                                 store_handler<bool> done) const {
  // On the pool: the checksum takes as long as reading the bytes.
  client.threads().post([this, client, key = std::move(key), bytes, if_absent,
                         stop = std::move(stop), &where, done = std::move(done)]() mutable {
    std::string crc;
    try {
      crc = crc_of(client, bytes, stop);
    } catch (const error& e) {
      where = {.what = e.where().what, .url = url(key)};
      return done(e.code(), false);
    }
    if (bytes.size() > plan_.part_bytes && !if_absent) {
      return std::make_shared<gs_session_upload>(
                 client, plan_, by_session(key, bytes.size(), crc), bytes, std::move(stop), where,
                 [done = std::move(done)](std::error_code code) mutable { done(code, !code); })
          ->begin();
    }
    cloud_call call = with_metadata(key, bytes, crc);
    if (if_absent) call.url += "&ifGenerationMatch=0";
    const std::string at = url(key);
    client.async_send(std::move(call), std::move(stop), where,
                      [this, client, crc, at, if_absent, &where, done = std::move(done)](
                          std::error_code code, const net::http_response& answer) mutable {
                        if (code && if_absent && was_there(answer)) {
                          where = {};
                          return done({}, false);
                        }
                        try {
                          if (!code) require_crc(answer, crc);
                        } catch (const error& e) {
                          where = e.where();
                          where.url = at;
                          code = e.code();
                        }
                        done(code, !code);
                      });
  });
}

MDSTREAM_INLINE cloud_call gs_api::with_metadata(const std::string& key, bytes_view bytes,
                                                 const std::string& crc) const {
  std::string line = "--mdstream";  // no object has the line between by chance
  for (int i = 0; i < 2; ++i) line += '-' + std::to_string(mdstream::detail::random_bits());
  auto text = std::make_shared<std::string>(
      line + "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n" +
      json::dump(json::object{{"name", key}, {"crc32c", crc}}) + "\r\n" + line +
      "\r\nContent-Type: application/octet-stream\r\n\r\n");
  text->append(as_text(bytes)).append("\r\n" + line + "--\r\n");
  return paid({.method = "POST",
               .url = uploads_ + "?uploadType=multipart&fields=crc32c",
               .key = key,
               .headers = {{"Content-Type", "multipart/related; boundary=" + line.substr(2)}},
               .text = std::move(text)});
}

MDSTREAM_INLINE std::string gs_api::crc_of(const cloud_client& client, bytes_view bytes,
                                           const std::stop_token& stop) {
  std::uint32_t crc = 0;
  for_blocks(bytes, [&](bytes_view block) {
    crc = crc32c(block, crc);
    client.block_was_read(block, stop);
  });
  return detail::cloud::crc32c_text(crc);
}

MDSTREAM_INLINE cloud_call gs_api::object(const std::string& key, const std::string& query) const {
  return paid({.url = objects_ + '/' + net::percent_encode(key) + query, .key = key});
}

MDSTREAM_INLINE cloud_call gs_api::paid(cloud_call call) const {
  if (settings_.user_project.empty()) return call;
  const bool of_environment = settings_.payer_of_environment;
  const std::string query = "userProject=" + net::percent_encode(settings_.user_project);
  if (of_environment) {
    call.payer_query = query;
  } else {
    call.url += (call.url.find('?') == call.url.npos ? '?' : '&') + query;
  }
  call.payer = "requests are billed to the project \"" + settings_.user_project + "\" (" +
               (of_environment ? net::detail::google_variables::quota_project : "user_project") +
               ')';
  return call;
}

MDSTREAM_INLINE void gs_api::require_crc(const net::http_response& answer, const std::string& crc) {
  const json::value made = json::parse(answer.text);
  const json::value* const found = made.find("crc32c");
  if (found == nullptr || found->as<std::string>("crc32c") == crc) return;
  throw error(errc::unavailable, "the service has other bytes than were sent, by their CRC32C");
}

MDSTREAM_INLINE gs_upload gs_api::by_session(const std::string& key, std::uint64_t total,
                                             const std::string& crc) const {
  return {.key = key,
          .open = paid({.method = "POST",
                        .url = uploads_ + "?uploadType=resumable&fields=crc32c",
                        .key = key,
                        .headers = {{"Content-Type", "application/json; charset=UTF-8"},
                                    {"X-Upload-Content-Type", "application/octet-stream"},
                                    {"X-Upload-Content-Length", std::to_string(total)}},
                        .text = std::make_shared<const std::string>(
                            json::dump(json::object{{"name", key}, {"crc32c", crc}}))}),
          .endpoint = settings_.endpoint,
          .require_whole = [crc](const net::http_response& answer) { require_crc(answer, crc); }};
}

}  // namespace mdstream::inline v0::detail
