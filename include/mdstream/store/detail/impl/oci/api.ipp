#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/store/detail/cloud/checksums.hpp>
#include <mdstream/store/detail/cloud/json_refusal.hpp>
#include <mdstream/store/detail/cloud/part_digests.hpp>
#include <mdstream/store/detail/http_range.hpp>
#include <mdstream/store/detail/oci/api.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace mdstream::inline v0::detail::oci {

MDSTREAM_INLINE std::optional<std::string> md5_of_parts(const std::vector<std::string>& md5s) {
  std::vector<std::byte> digests;
  for (const std::string& each : md5s) {
    const auto digest = from_base64(each);
    if (!digest || digest->size() != 16) return std::nullopt;
    digests.insert(digests.end(), digest->begin(), digest->end());
  }
  const auto whole = detail::cloud::md5_of_digests(digests);
  if (!whole) return std::nullopt;
  return to_base64(*whole) + '-' + std::to_string(md5s.size());
}

}  // namespace mdstream::inline v0::detail::oci

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE oci_api::oci_api(store::oci_settings settings, upload_plan plan)
    : cloud_api(plan.retry),
      settings_(std::move(settings)),
      plan_(plan),
      namespace_(settings_.namespace_name) {}

MDSTREAM_INLINE std::string oci_api::url(std::string_view key) const {
  return settings_.shown + (key.empty() ? "" : "/") + std::string(key);
}

MDSTREAM_INLINE cloud_refusal oci_api::refusal(const net::http_response& answer) const {
  cloud_refusal out = json_refusal(answer, "code");
  if (out.code == "UnmatchedContentMD5") out.failure = errc::unavailable;  // lost on the way
  return out;
}

MDSTREAM_INLINE std::chrono::seconds oci_api::clock_tolerance() const {
  return std::chrono::minutes(4);  // the service's is five
}

MDSTREAM_INLINE bool oci_api::knows_namespace() const {
  const std::lock_guard lock(mutex_);
  return !namespace_.empty();
}

MDSTREAM_INLINE void oci_api::learn_namespace(std::string found) const {
  const std::lock_guard lock(mutex_);
  namespace_ = std::move(found);
}

MDSTREAM_INLINE std::string oci_api::read_namespace(const net::http_response& answer) {
  std::string found = json::parse(answer.text).as<std::string>("the namespace");
  if (!detail::oci::is_name(found)) throw error(errc::corrupt, "the answer is no namespace");
  return found;
}

MDSTREAM_INLINE object_version oci_api::version(const net::http_response& answer) const {
  const auto bytes = mdstream::detail::content_length(answer.headers);
  if (!bytes) throw error(errc::corrupt, "OCI does not tell the object's size");
  return {*bytes, mdstream::detail::tag_of(answer.headers)};
}

MDSTREAM_INLINE cloud_call oci_api::get(const std::string& key, const object_version* held) const {
  cloud_call out = object("GET", key);
  if (held != nullptr && !held->tag.empty()) out.headers.push_back({"If-Match", held->tag});
  return out;
}

MDSTREAM_INLINE void oci_api::remove(const cloud_client& client, std::string key,
                                     std::stop_token stop, diagnostics& where,
                                     store_handler<> done) const {
  send_removal(client, object("DELETE", key), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE cloud_call oci_api::list(const std::string& prefix) const {
  return {
      .url = bucket() + "/o?fields=name,size,etag&limit=1000&prefix=" + net::percent_encode(prefix),
      .key = prefix};
}

MDSTREAM_INLINE cloud_page oci_api::page(const cloud_call& asked,
                                         const net::http_response& answer) const {
  const json::value said = json::parse(answer.text);
  cloud_page out;
  const json::value* const objects = said.find("objects");
  if (objects == nullptr) throw error(errc::corrupt, "the listing is not one");
  for (const json::value& each : objects->as<json::array>("objects")) {
    out.objects.push_back(
        {.key = each.get<std::string>("name"),
         .bytes = each.get<std::uint64_t>("size"),
         .tag = each.find("etag") == nullptr ? std::string() : each.get<std::string>("etag")});
  }
  const json::value* const next = said.find("nextStartWith");
  if (next != nullptr && next->type() != json::kind::null) {
    cloud_call more = list(asked.key);
    more.url += "&start=" + net::percent_encode(next->as<std::string>("nextStartWith"));
    out.more.push_back(std::move(more));
  }
  return out;
}

MDSTREAM_INLINE void oci_api::write(const cloud_client& client, std::string key, bytes_view bytes,
                                    std::stop_token stop, diagnostics& where,
                                    store_handler<> done) const {
  put(client, std::move(key), bytes, nullptr, std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE void oci_api::create(const cloud_client& client, std::string key, bytes_view bytes,
                                     std::stop_token stop, diagnostics& where,
                                     store_handler<bool> done) const {
  auto there = std::make_shared<std::atomic<bool>>(false);
  put(client, std::move(key), bytes, there, std::move(stop), where,
      [there, &where, done = std::move(done)](std::error_code code) mutable {
        if (!*there) return done(code, !code);
        where = {};
        done({}, false);
      });
}

MDSTREAM_INLINE std::string oci_api::bucket() const {
  const std::lock_guard lock(mutex_);
  return settings_.endpoint + "/n/" + namespace_ + "/b/" + settings_.bucket;
}

MDSTREAM_INLINE cloud_call oci_api::object(std::string method, const std::string& key) const {
  return {
      .method = std::move(method), .url = bucket() + "/o/" + net::percent_encode(key), .key = key};
}

MDSTREAM_INLINE void oci_api::put_condition(cloud_call& call, was_there unless) {
  if (!unless) return;
  call.headers.push_back({"If-None-Match", "*"});
  call.on_head = [unless = std::move(unless)](const net::http_response& head, net::http_sink&,
                                              diagnostics&) {
    if (head.status == 412) *unless = true;
    return std::error_code();
  };
}

MDSTREAM_INLINE void oci_api::put(const cloud_client& client, std::string key, bytes_view bytes,
                                  was_there unless, std::stop_token stop, diagnostics& where,
                                  store_handler<> done) const {
  if (bytes.size() > plan_.part_bytes) {
    return std::make_shared<part_upload>(client, plan_, part_steps(key, bytes, std::move(unless)),
                                         bytes, std::move(stop), where, std::move(done))
        ->begin();
  }
  cloud_call put = object("PUT", key);
  put.headers.push_back({"Content-Type", "application/octet-stream"});
  put.body = bytes;
  put.checksum = &detail::cloud::content_md5;
  put_condition(put, std::move(unless));
  client.async_send(std::move(put), std::move(stop), where,
                    [done = std::move(done)](std::error_code code,
                                             const net::http_response&) mutable { done(code); });
}

MDSTREAM_INLINE upload_steps oci_api::part_steps(const std::string& key, bytes_view bytes,
                                                 was_there unless) const {
  auto state = std::make_shared<upload_state>();
  state->place = bucket() + "/u/" + net::percent_encode(key);
  const std::uint64_t size = plan_.part_size(bytes.size());
  state->tags.resize(static_cast<std::size_t>((bytes.size() + size - 1) / size));
  state->md5s.resize(state->tags.size());
  auto about =
      std::make_shared<const std::string>(json::dump(json::value(json::object{{"object", key}})));
  upload_steps steps;
  steps.begin = [url = bucket() + "/u", key, about, unless] {
    cloud_call out{.method = "POST", .url = url, .key = key, .text = about};
    put_condition(out, unless);
    return out;
  };
  steps.begun = [state](const net::http_response& answer) {
    state->id = net::percent_encode(json::parse(answer.text).get<std::string>("uploadId"));
    if (state->id.empty()) throw error(errc::corrupt, "the answer has no upload");
  };
  steps.part = [state, key](std::size_t number, std::uint64_t, bytes_view part) {
    return cloud_call{.method = "PUT",
                      .url = state->place + "?uploadId=" + state->id +
                             "&uploadPartNum=" + std::to_string(number + 1),
                      .key = key,
                      .body = part,
                      .checksum = &detail::cloud::content_md5};
  };
  steps.took = [state](std::size_t number, std::uint64_t, bytes_view,
                       const net::http_response& answer) {
    const std::lock_guard lock(state->mutex);
    state->tags[number] = mdstream::detail::tag_of(answer.headers);
    state->md5s[number] = answer.headers.find("opc-content-md5").value_or("");
    if (state->tags[number].empty()) throw error(errc::corrupt, "a part's answer has no ETag");
  };
  steps.finish = [state, key, unless] {
    json::array parts;
    for (std::size_t i = 0; i < state->tags.size(); ++i) {
      parts.push_back(
          json::object{{"partNum", static_cast<std::int64_t>(i + 1)}, {"etag", state->tags[i]}});
    }
    cloud_call out{.method = "POST",
                   .url = state->place + "?uploadId=" + state->id,
                   .key = key,
                   .text = std::make_shared<const std::string>(
                       json::dump(json::value(json::object{{"partsToCommit", std::move(parts)}}))),
                   .is_slow = true};
    put_condition(out, unless);
    return out;
  };
  steps.abort = [state, key] {
    return cloud_call{
        .method = "DELETE", .url = state->place + "?uploadId=" + state->id, .key = key};
  };
  steps.look = [look = look(key)] { return look; };
  steps.is_it = [state, unless, total = bytes.size()](const net::http_response& answer) {
    const auto ours = detail::oci::md5_of_parts(state->md5s);
    const bool same = ours && answer.headers.find("opc-multipart-md5") == *ours &&
                      mdstream::detail::content_length(answer.headers) == total;
    if (same && unless) *unless = false;  // what was there came from here
    return same;
  };
  return steps;
}

}  // namespace mdstream::inline v0::detail
