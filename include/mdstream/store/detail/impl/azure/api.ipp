#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/detail/chance.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/xml.hpp>
#include <mdstream/store/detail/azure/api.hpp>
#include <mdstream/store/detail/cloud/checksums.hpp>
#include <mdstream/store/detail/digest.hpp>
#include <mdstream/store/detail/http_range.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace mdstream::inline v0::detail::azure {

/// A blob's name. One with characters that XML cannot hold comes percent-encoded.
MDSTREAM_INLINE std::string read_name(net::xml_reader& in) {
  const bool is_encoded = net::detail::equal_ignoring_case(in.attribute("Encoded"), "true");
  std::string text = in.text();
  if (!is_encoded) return text;
  auto name = net::percent_decode(text);
  if (!name) throw error(errc::corrupt, "the listing is not one: a name has a broken escape");
  return *std::move(name);
}

MDSTREAM_INLINE std::vector<object_info> parse_blobs(std::string_view text, std::string& next) {
  std::vector<object_info> out;
  net::xml_reader in(text);
  const auto read_properties = [&](object_info& one, bool& has_size, bool& is_directory) {
    while (const auto name = in.next_child()) {
      if (*name == "Content-Length") {
        const auto bytes = net::detail::whole_number<std::uint64_t>(in.text());
        if (bytes) one.bytes = *bytes;
        has_size = bytes.has_value();
      } else if (*name == "ResourceType") {
        is_directory = in.text() == "directory";
      } else if (*name == "Content-MD5") {
        one.digest = digest_of_base64("md5", 16, in.text());
      } else if (*name == "Etag") {
        const std::string tag = in.text();  // without the quotes of a header
        if (!tag.empty()) one.tag = tag.starts_with('"') ? tag : '"' + tag + '"';
      } else {
        in.skip();
      }
    }
  };
  const auto read_blob = [&] {
    object_info one;
    bool has_size = false, is_directory = false;
    while (const auto name = in.next_child()) {
      if (*name == "Name") {
        one.key = read_name(in);
      } else if (*name == "Properties") {
        read_properties(one, has_size, is_directory);
      } else {
        in.skip();
      }
    }
    if (is_directory) return;
    if (one.key.empty() || !has_size) {
      throw error(errc::corrupt, "the listing is not one: a blob has no name or no size");
    }
    out.push_back(std::move(one));
  };
  in.begin("EnumerationResults");
  while (const auto part = in.next_child()) {
    if (*part == "Blobs") {
      while (const auto name = in.next_child()) {
        if (*name == "Blob") {
          read_blob();
        } else {
          in.skip();
        }
      }
    } else if (*part == "NextMarker") {
      next = in.text();
    } else {
      in.skip();
    }
  }
  in.finish();
  return out;
}

MDSTREAM_INLINE cloud_refusal parse_refusal(const net::http_response& answer) {
  cloud_refusal out;
  out.code = answer.headers.find("x-ms-error-code").value_or("");
  try {
    net::xml_reader in(answer.text);
    if (in.begin() != "Error") return out;
    while (const auto name = in.next_child()) {
      if (*name == "Code") {
        out.code = in.text();
      } else if (*name == "Message") {
        out.message = in.text();
        out.message.resize(std::min(out.message.find('\n'), out.message.size()));
      } else {
        in.skip();
      }
    }
  } catch (const error&) {
  }
  return out;
}

}  // namespace mdstream::inline v0::detail::azure

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE azure_api::azure_api(store::azure_settings settings, upload_plan plan)
    : cloud_api(plan.retry), settings_(std::move(settings)), plan_(plan) {
  plan_.most_parts = 50'000;
}

MDSTREAM_INLINE std::string azure_api::url(std::string_view key) const {
  return settings_.shown + (key.empty() ? "" : "/") + std::string(key);
}

MDSTREAM_INLINE cloud_refusal azure_api::refusal(const net::http_response& answer) const {
  cloud_refusal out = detail::azure::parse_refusal(answer);
  if (out.code == "Md5Mismatch") out.failure = errc::unavailable;  // lost on the way
  if (out.code == "InvalidBlockList") {  // of this upload's own blocks: see `block_steps`
    out.failure = errc::unavailable;
    out.begins_anew = true;
    out.advice = "another writer of the blob came in between: its blocks were discarded";
  }
  return out;
}

MDSTREAM_INLINE object_version azure_api::version(const net::http_response& answer) const {
  const auto bytes = mdstream::detail::content_length(answer.headers);
  if (!bytes) throw error(errc::corrupt, "Azure does not tell the blob's size");
  return {*bytes, mdstream::detail::tag_of(answer.headers),
          digest_of_base64("md5", 16, answer.headers.find("Content-MD5").value_or(""))};
}

MDSTREAM_INLINE cloud_call azure_api::get(const std::string& key,
                                          const object_version* held) const {
  cloud_call out = call("GET", key);
  if (held != nullptr && held->tag.starts_with('"')) {
    out.headers.push_back({"If-Match", held->tag});
  }
  return out;
}

MDSTREAM_INLINE void azure_api::remove(const cloud_client& client, std::string key,
                                       std::stop_token stop, diagnostics& where,
                                       store_handler<> done) const {
  send_removal(client, call("DELETE", key), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE cloud_call azure_api::list(const std::string& prefix) const {
  cloud_call out = call("GET", "");
  out.key = prefix;
  out.url += "?restype=container&comp=list&prefix=" + net::percent_encode(prefix);
  return out;
}

MDSTREAM_INLINE cloud_page azure_api::page(const cloud_call& asked,
                                           const net::http_response& answer) const {
  cloud_page out;
  std::string next;
  out.objects = detail::azure::parse_blobs(answer.text, next);
  if (!next.empty()) {
    cloud_call more = list(asked.key);
    more.url += "&marker=" + net::percent_encode(next);
    out.more.push_back(std::move(more));
  }
  return out;
}

MDSTREAM_INLINE void azure_api::write(const cloud_client& client, std::string key, bytes_view bytes,
                                      std::stop_token stop, diagnostics& where,
                                      store_handler<> done) const {
  if (bytes.size() > plan_.part_bytes) {
    return std::make_shared<part_upload>(client, plan_, block_steps(key, bytes), bytes,
                                         std::move(stop), where, std::move(done))
        ->begin();
  }
  client.async_send(put(key, bytes), std::move(stop), where,
                    [done = std::move(done)](std::error_code code,
                                             const net::http_response&) mutable { done(code); });
}

MDSTREAM_INLINE void azure_api::create(const cloud_client& client, std::string key,
                                       bytes_view bytes, std::stop_token stop, diagnostics& where,
                                       store_handler<bool> done) const {
  cloud_call unless_there = put(key, bytes);
  unless_there.headers.push_back({"If-None-Match", "*"});
  send_creation(client, std::move(unless_there), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE bool azure_api::was_there(const net::http_response& answer) const {
  const std::string code = refusal(answer).code;  // 409 and 412 have other reasons, too
  return code == "BlobAlreadyExists" || code == "ConditionNotMet";
}

MDSTREAM_INLINE cloud_call azure_api::put(const std::string& key, bytes_view bytes) const {
  cloud_call out = call("PUT", key);
  out.headers.push_back({"x-ms-blob-type", "BlockBlob"});
  out.body = bytes;
  out.checksum = &detail::cloud::content_md5;
  return out;
}

MDSTREAM_INLINE cloud_call azure_api::call(std::string method, const std::string& key) const {
  cloud_call out{.method = std::move(method),
                 .url = settings_.endpoint + '/' + net::percent_encode(settings_.container, "$"),
                 .key = key,
                 .headers = {{"x-ms-version", "2021-12-02"}}};
  if (!key.empty()) out.url += '/' + net::percent_encode(key, "/");
  return out;
}

MDSTREAM_INLINE upload_steps azure_api::block_steps(const std::string& key,
                                                    bytes_view bytes) const {
  const std::uint64_t mark = mdstream::detail::random_bits();
  const auto id = [mark](std::size_t number) {
    std::array<std::byte, 12> name{};
    store_to(name.data(), mark);
    store_to(name.data() + 8, static_cast<std::uint32_t>(number));
    return to_base64(name);
  };
  const std::uint64_t size = plan_.part_size(bytes.size());
  const auto count = static_cast<std::size_t>((bytes.size() + size - 1) / size);
  auto names =
      std::make_shared<std::string>("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
  for (std::size_t i = 0; i < count; ++i) *names += "<Latest>" + id(i) + "</Latest>";
  *names += "</BlockList>";
  const cloud_call put = call("PUT", key);
  upload_steps steps;
  steps.part = [put, id](std::size_t number, std::uint64_t, bytes_view part) {
    cloud_call out = put;
    out.url += "?comp=block&blockid=" + net::percent_encode(id(number));
    out.body = part;
    out.checksum = &detail::cloud::content_md5;
    return out;
  };
  steps.took = [](std::size_t, std::uint64_t, bytes_view, const net::http_response&) {};
  steps.finish = [put, names] {
    cloud_call out = put;
    out.url += "?comp=blocklist";
    out.text = names;
    out.is_slow = true;
    return out;
  };
  return steps;
}

}  // namespace mdstream::inline v0::detail
