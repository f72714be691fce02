#pragma once

#include <mdstream/store/detail/cloud/checksums.hpp>
#include <mdstream/store/detail/digest.hpp>
#include <mdstream/store/detail/http_range.hpp>
#include <mdstream/store/detail/s3/api.hpp>
#include <mdstream/store/detail/s3/credentials.hpp>
#include <mdstream/store/detail/s3/messages.hpp>
#include <mdstream/store/detail/s3/part_tags.hpp>
#include <mdstream/store/detail/s3/session.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE s3_api::s3_api(store::s3_settings settings, upload_plan plan,
                               std::shared_ptr<s3_signer> signer)
    : cloud_api(plan.retry),
      settings_(std::move(settings)),
      plan_(plan),
      signer_(std::move(signer)) {}

MDSTREAM_INLINE std::string s3_api::url(std::string_view key) const {
  return settings_.scheme + settings_.bucket + (key.empty() ? "" : "/") + std::string(key);
}

MDSTREAM_INLINE bool s3_api::cure(cloud_call& call, const net::http_response& answer) const {
  const std::string elsewhere = s3_refusal(answer).region();
  if (!detail::s3::is_region(elsewhere) || elsewhere == call.region) return false;
  signer_->set_region(elsewhere);
  const std::size_t path = call.url.find('/', call.url.find("://") + 3);
  const std::string host = store::place_of(settings_, elsewhere, "").host;
  call.url = settings_.endpoint.scheme + "://" + host + call.url.substr(path);
  call.region = elsewhere;
  return true;
}

MDSTREAM_INLINE cloud_call s3_api::request(std::string method, const std::string& key,
                                           const std::vector<net::name_value>& query) const {
  cloud_call out{.method = std::move(method), .key = key, .region = signer_->region()};
  out.url = store::place_of(settings_, out.region, key).url(settings_);
  if (!query.empty()) out.url += '?' + net::v4_query(query);
  if (settings_.requester_pays) out.headers.push_back({"x-amz-request-payer", "requester"});
  const auto add = [&out](const std::vector<net::http_header>& headers) {
    out.headers.insert(out.headers.end(), headers.begin(), headers.end());
  };
  add(settings_.all_headers);
  if (!key.empty() && out.method != "DELETE") add(settings_.object_headers);
  return out;
}

MDSTREAM_INLINE net::http_request s3_api::bare_request(std::string method,
                                                       const std::string& key) const {
  std::vector<net::name_value> query;
  if (settings_.requester_pays) query.emplace_back("x-amz-request-payer", "requester");
  cloud_call call = request(std::move(method), key, query);
  return {.method = std::move(call.method), .url = std::move(call.url)};
}

MDSTREAM_INLINE object_version s3_api::version(const net::http_response& answer) const {
  const auto bytes = mdstream::detail::content_length(answer.headers);
  if (!bytes) throw error(errc::corrupt, "S3 does not tell the object's size");
  const std::string tag = mdstream::detail::tag_of(answer.headers);
  return {*bytes, tag, tags_tell_bytes() ? digest_of_tag(tag) : std::string()};
}

MDSTREAM_INLINE cloud_call s3_api::get(const std::string& key, const object_version* held) const {
  cloud_call out = request("GET", key);
  if (held != nullptr && held->tag.starts_with('"')) {
    out.headers.push_back({"If-Match", held->tag});
  }
  return out;
}

MDSTREAM_INLINE void s3_api::remove(const cloud_client& client, std::string key,
                                    std::stop_token stop, diagnostics& where,
                                    store_handler<> done) const {
  send_removal(client, request("DELETE", key), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE bool s3_api::was_absent(const net::http_response& answer) const {
  return answer.status == 404 && parse_s3_error(answer.text).code != "NoSuchBucket";
}

MDSTREAM_INLINE cloud_page s3_api::page(const cloud_call& asked,
                                        const net::http_response& answer) const {
  s3_page found = parse_s3_page(answer.text, {.url = url(asked.key)});
  cloud_page out{.objects = std::move(found.objects)};
  for (object_info& each : out.objects) {
    if (!tags_tell_bytes()) each.digest.clear();
  }
  if (!found.next.empty()) out.more.push_back(page_call(asked.key, found.next));
  return out;
}

MDSTREAM_INLINE void s3_api::write(const cloud_client& client, std::string key, bytes_view bytes,
                                   std::stop_token stop, diagnostics& where,
                                   store_handler<> done) const {
  put(client, std::move(key), bytes, {}, std::move(stop), where,
      [done = std::move(done)](std::error_code code, bool) mutable { done(code); });
}

MDSTREAM_INLINE void s3_api::create(const cloud_client& client, std::string key, bytes_view bytes,
                                    std::stop_token stop, diagnostics& where,
                                    store_handler<bool> done) const {
  put(client, std::move(key), bytes, {{"If-None-Match", "*"}}, std::move(stop), where,
      std::move(done));
}

MDSTREAM_INLINE bool s3_api::sends_checksums() const {
  return !signer_->reads_bodies() && settings_.scheme == "s3://";
}

MDSTREAM_INLINE cloud_call s3_api::page_call(const std::string& prefix,
                                             const std::string& token) const {
  // A directory bucket lists whole directories.
  const std::size_t end = settings_.is_directory_bucket() ? prefix.rfind('/') + 1 : prefix.size();
  std::vector<net::name_value> query = {
      {"list-type", "2"}, {"encoding-type", "url"}, {"prefix", prefix.substr(0, end)}};
  if (!token.empty()) query.emplace_back("continuation-token", token);
  cloud_call out = request("GET", "", query);
  out.key = prefix;
  return out;
}

MDSTREAM_INLINE cloud_call s3_api::making(std::string method, const std::string& key,
                                          const std::vector<net::name_value>& query) const {
  cloud_call out = request(std::move(method), key, query);
  out.headers.insert(out.headers.end(), settings_.upload_headers.begin(),
                     settings_.upload_headers.end());
  return out;
}

MDSTREAM_INLINE void s3_api::put(const cloud_client& client, std::string key, bytes_view bytes,
                                 header_list condition, std::stop_token stop, diagnostics& where,
                                 store_handler<bool> done) const {
  if (bytes.size() > plan_.part_bytes) {
    auto written = std::make_shared<bool>(true);
    upload_steps steps = part_steps(std::move(key), bytes.size(), std::move(condition), written);
    return std::make_shared<part_upload>(
               client, plan_, std::move(steps), bytes, std::move(stop), where,
               [written, done = std::move(done)](std::error_code code) mutable {
                 done(code, !code && *written);
               })
        ->begin();
  }
  cloud_call call = making("PUT", key);
  call.headers.insert(call.headers.end(), condition.begin(), condition.end());
  call.body = bytes;
  if (sends_checksums()) {
    call.checksum = [](bytes_view body, const detail::cloud::was_read& told) {
      return net::http_header{crc_header, detail::cloud::crc32c_text(body, told)};
    };
  }
  client.async_send(std::move(call), std::move(stop), where,
                    [conditional = !condition.empty(), done = std::move(done)](
                        std::error_code code, const net::http_response& answer) mutable {
                      if (conditional && answer.status == 412) return done({}, false);
                      done(code, !code);
                    });
}

MDSTREAM_INLINE upload_steps s3_api::part_steps(std::string key, std::uint64_t bytes,
                                                header_list condition,
                                                std::shared_ptr<bool> written) const {
  struct progress {
    std::string id{};
    std::vector<std::string> tags{};
    std::vector<std::string> crcs{};  // of the parts, where the service takes them
  };
  auto upload = std::make_shared<progress>();
  const std::uint64_t part_size = plan_.part_size(bytes);
  upload->tags.resize(static_cast<std::size_t>((bytes + part_size - 1) / part_size));
  upload_steps steps;
  steps.begin = [this, key] {
    cloud_call call = making("POST", key, {{"uploads", ""}});
    call.body = bytes_view();
    if (sends_checksums()) call.headers.push_back({crc_algorithm, "CRC32C"});
    return call;
  };
  steps.begun = [this, key, upload](const net::http_response& answer) {
    upload->id = parse_s3_upload_id(answer.text, {.url = url(key)});
    // Other services with S3's protocol may not know of checksums, and take no message with them.
    if (sends_checksums() && answer.headers.find(crc_algorithm) == "CRC32C") {
      upload->crcs.resize(upload->tags.size());
    }
  };
  steps.part = [this, key, upload](std::size_t number, std::uint64_t, bytes_view part) {
    cloud_call call =
        request("PUT", key, {{"partNumber", std::to_string(number + 1)}, {"uploadId", upload->id}});
    call.body = part;
    if (!upload->crcs.empty()) {
      call.checksum = [upload, number](bytes_view body, const detail::cloud::was_read& told) {
        upload->crcs[number] = detail::cloud::crc32c_text(body, told);
        return net::http_header{crc_header, upload->crcs[number]};
      };
    }
    return call;
  };
  steps.took = [this, key, upload](std::size_t number, std::uint64_t, bytes_view,
                                   const net::http_response& answer) {
    const auto tag = answer.headers.find("ETag");
    if (!tag) {
      throw error(errc::corrupt,
                  {.what = "S3 took a part of an upload without an ETag", .url = url(key)});
    }
    upload->tags[number] = *tag;
  };
  steps.finish = [this, key, upload, condition] {
    cloud_call call = request("POST", key, {{"uploadId", upload->id}});
    call.headers.insert(call.headers.end(), condition.begin(), condition.end());
    call.text = std::make_shared<const std::string>(s3_parts_message(upload->tags, upload->crcs));
    call.is_slow = true;
    call.late_status = &status_at_end;
    return call;
  };
  steps.abort = [this, key, upload] { return request("DELETE", key, {{"uploadId", upload->id}}); };
  if (!condition.empty()) {
    steps.stands_back = [written](const net::http_response& answer) {
      *written = answer.status != 412;
      return !*written;
    };
  }
  steps.look = [this, key] { return look(key); };
  // Another object of the same size is not it; where ETags do not tell, the caller tries again.
  steps.is_it = [upload, bytes](const net::http_response& answer) {
    const auto ours = tag_of_parts(upload->tags);
    return ours && answer.headers.find("ETag") == *ours &&
           mdstream::detail::content_length(answer.headers) == bytes;
  };
  return steps;
}

MDSTREAM_INLINE int s3_api::status_at_end(const net::http_response& answer) {
  if (is_s3_completion(answer.text)) return answer.status;
  const std::string code = parse_s3_error(answer.text).code;
  if (code.empty()) return 502;
  return code == "PreconditionFailed" ? 412 : 500;
}

MDSTREAM_INLINE cloud_client s3_client(runtime& threads, const store::s3_settings& settings,
                                       const store::s3_options& options) {
  store::s3_payload payload = options.payload;
  if (payload == store::s3_payload::automatic) {
    payload =
        settings.endpoint.scheme == "https" ? store::s3_payload::none : store::s3_payload::whole;
  }
  const auto signer = std::make_shared<s3_signer>(settings, payload, options.http.body_read);
  net::any_aws_credentials keys =
      options.credentials ? *options.credentials : default_s3_keys(threads, options);
  if (settings.sessions) {
    keys = s3_session_credentials(net::fetcher(threads, options.http), settings, std::move(keys));
  }
  return {threads,
          std::make_shared<s3_api>(settings,
                                   upload_plan{.part_bytes = options.part_bytes.value,
                                               .parallel = options.parallel_parts,
                                               .retry = options.part_retry},
                                   signer),
          options.http, s3_access(std::move(keys), signer, settings.secrets),
          settings.sessions ? s3_session_credentials::margin : net::usual_margin};
}

}  // namespace mdstream::inline v0::detail
