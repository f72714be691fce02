#pragma once

// An S3 in this process that is stricter than any: it computes each signature again from the bytes
// that it received, and each checksum of an upload, refuses another region, clock or expired keys
// as AWS does, and does what a test tells it to.

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/core/detail/hex.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/sha256.hpp>
#include <mdstream/net/time_text.hpp>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/scripted_server.hpp"

namespace fake_s3 {

namespace mds = mdstream;
namespace net = mdstream::net;
using support::scripted_request;
using connection = support::scripted_server::connection;

inline std::string hmac(const std::string& key, const std::string& text) {
  const auto digest = net::hmac_sha256(mds::as_bytes(key), mds::as_bytes(text));
  return std::string(mds::as_text(digest));
}
inline std::string hmac_hex(const std::string& key, const std::string& text) {
  return mds::detail::to_hex(mds::as_bytes(hmac(key, text)));
}

inline std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(by, at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

inline std::string between(const std::string& text, const std::string& from,
                           const std::string& to) {
  const std::size_t begin = text.find(from);
  if (begin == std::string::npos) return "";
  const std::size_t end = text.find(to, begin + from.size());
  return text.substr(begin + from.size(), end - begin - from.size());
}

/// A request taken apart, with its body as the client meant it.
struct question {
  scripted_request raw;
  std::string key;  ///< decoded, without the bucket
  std::map<std::string, std::string> query;
  std::string body;
};

struct answer {
  int status = 200;
  std::string body{};
  std::string headers{};
};

inline answer refusal(int status, const std::string& code, const std::string& more = "",
                      const std::string& headers = "") {
  return {status,
          "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>as the test wants it" +
              "</Message>" + more + "</Error>",
          headers};
}

class server {
 public:
  std::string bucket = "bucket", region = "eu-south-7";
  std::map<std::string, std::string> secrets{{"AKFAKE", "se/cret+of the fake"}};
  std::set<std::string> expired_tokens{};
  std::chrono::seconds ahead{0};  ///< of our clock
  bool is_public = false, requester_pays = false;
  std::size_t page = 1000;
  /// Answers in place of the fake, if it gives an answer. Called with the lock held.
  std::function<std::optional<answer>(const question&)> instead{};
  /// Changes the fake's own answer.
  std::function<void(const question&, answer&)> afterwards{};

  server() : web_([this](connection& to, const scripted_request& raw) { serve(to, raw); }) {}

  [[nodiscard]] std::string url() const { return web_.url(); }
  [[nodiscard]] std::string s3_url(const std::string& prefix = "") const {
    return "s3://" + bucket + (prefix.empty() ? "" : "/" + prefix);
  }
  [[nodiscard]] std::vector<scripted_request> requests() const { return web_.requests(); }

  std::map<std::string, std::string> objects() {
    const std::lock_guard lock(mutex_);
    return objects_;
  }
  std::size_t uploads() {
    const std::lock_guard lock(mutex_);
    return uploads_.size();
  }
  void put(const std::string& key, const std::string& bytes) {
    const std::lock_guard lock(mutex_);
    changed(key, bytes);
  }
  /// `put` for what is called with the lock held.
  void changed(const std::string& key, const std::string& bytes) {
    objects_[key] = bytes;
    tags_.erase(key);
  }

 private:
  net::wall_clock::time_point now() const { return net::wall_clock::now() + ahead; }

  void serve(connection& to, const scripted_request& raw) {
    question asked{raw, "", {}, raw.body};
    answer out;
    {
      const std::lock_guard lock(mutex_);
      out = respond(asked);
      if (afterwards) afterwards(asked, out);
    }
    std::string head = "HTTP/1.1 " + std::to_string(out.status) +
                       " X\r\nDate: " + net::http_date(now()) + "\r\n" + out.headers;
    if (out.headers.find("Content-Length:") == std::string::npos && out.status != 204) {
      head += "Content-Length: " + std::to_string(out.body.size()) + "\r\n";
    }
    to.send(head + "\r\n" + (raw.method == "HEAD" ? "" : out.body));
  }

  answer respond(question& asked) {
    const std::string& target = asked.raw.target;
    const std::size_t mark = target.find('?');
    const std::string path = target.substr(0, mark);
    const std::string root = "/" + bucket;
    if (path != root && !path.starts_with(root + "/")) return refusal(404, "NoSuchBucket");
    asked.key = net::percent_decode(path.substr(std::min(path.size(), root.size() + 1))).value();
    for (const std::string& each :
         split(mark == std::string::npos ? "" : target.substr(mark + 1), '&')) {
      const std::size_t equals = each.find('=');
      asked.query[each.substr(0, equals)] =
          net::percent_decode(equals == std::string::npos ? "" : each.substr(equals + 1)).value();
    }
    const bool presigned = asked.query.count("X-Amz-Signature") != 0;
    if (auto refused = presigned ? check_presigned(asked) : check_signature(asked)) return *refused;
    const bool pays = asked.raw.header("x-amz-request-payer") == "requester" ||
                      asked.query.count("x-amz-request-payer") != 0;
    if (requester_pays && !pays) {
      return refusal(403, "AccessDenied");
    }
    if (instead) {
      if (auto own = instead(asked)) return *own;
    }
    return act(asked);
  }

  // ---- signatures

  std::optional<answer> check_signature(question& asked) {
    const std::string given = asked.raw.header("authorization");
    if (given.empty()) {
      return is_public ? std::nullopt : std::optional(refusal(403, "AccessDenied"));
    }
    const auto scope = split(between(given, "Credential=", ","), '/');
    if (scope.size() != 5) return refusal(400, "AuthorizationHeaderMalformed");
    if (scope[2] != region) {
      return refusal(400, "AuthorizationHeaderMalformed", "<Region>" + region + "</Region>",
                     "x-amz-bucket-region: " + region + "\r\n");
    }
    const auto secret = secrets.find(scope[0]);
    if (secret == secrets.end()) return refusal(403, "InvalidAccessKeyId");
    if (expired_tokens.count(asked.raw.header("x-amz-security-token")) != 0) {
      return refusal(400, "ExpiredToken");
    }
    const std::string date = asked.raw.header("x-amz-date");
    if (date.size() != 16) return refusal(403, "AccessDenied");
    const auto sent = time_of(date);
    if (!sent || std::chrono::abs(*sent - now()) > std::chrono::minutes(15)) {
      return refusal(403, "RequestTimeTooSkewed");
    }
    const std::string canonical =
        canonical_request(asked.raw, between(given, "SignedHeaders=", ","));
    const std::string signature = signature_of(canonical, secret->second, date, scope);
    if (given.substr(given.find("Signature=") + 10) != signature) {
      return refusal(403, "SignatureDoesNotMatch");
    }
    return check_payload(asked, key_of(secret->second, scope), date + '\n' + text_of(scope),
                         signature);
  }

  std::optional<answer> check_presigned(question& asked) {
    auto& query = asked.query;
    const auto scope = split(query["X-Amz-Credential"], '/');
    const std::string date = query["X-Amz-Date"];
    if (query["X-Amz-Algorithm"] != "AWS4-HMAC-SHA256" || scope.size() != 5 || date.size() != 16) {
      return refusal(400, "AuthorizationQueryParametersError");
    }
    if (scope[2] != region) return refusal(400, "AuthorizationQueryParametersError");
    const auto secret = secrets.find(scope[0]);
    if (secret == secrets.end()) return refusal(403, "InvalidAccessKeyId");
    if (expired_tokens.count(query["X-Amz-Security-Token"]) != 0) {
      return refusal(400, "ExpiredToken");
    }
    const auto lifetime = std::chrono::seconds(std::stol(query["X-Amz-Expires"]));
    if (*time_of(date) + lifetime < now()) return refusal(403, "AccessDenied");
    scripted_request unsigned_one = asked.raw;
    unsigned_one.target = without(asked.raw.target, "X-Amz-Signature=");
    unsigned_one.headers["x-amz-content-sha256"] = "UNSIGNED-PAYLOAD";
    const std::string canonical = canonical_request(unsigned_one, query["X-Amz-SignedHeaders"]);
    if (query["X-Amz-Signature"] != signature_of(canonical, secret->second, date, scope)) {
      return refusal(403, "SignatureDoesNotMatch");
    }
    return std::nullopt;
  }

  /// A target without the parameter that begins so.
  static std::string without(std::string target, const std::string& parameter) {
    const std::size_t begin = target.find(parameter);
    const std::size_t end = std::min(target.find('&', begin), target.size());
    return target.erase(begin - 1, end - begin + 1);
  }

  /// Of `20130524T000000Z`.
  static std::optional<net::wall_clock::time_point> time_of(const std::string& date) {
    return net::parse_iso_time(date.substr(0, 4) + '-' + date.substr(4, 2) + '-' +
                               date.substr(6, 5) + ':' + date.substr(11, 2) + ':' +
                               date.substr(13));
  }

  static std::string key_of(const std::string& secret, const std::vector<std::string>& scope) {
    std::string key = "AWS4" + secret;
    for (std::size_t i = 1; i < 5; ++i) key = hmac(key, scope[i]);
    return key;
  }
  static std::string text_of(const std::vector<std::string>& scope) {
    return scope[1] + '/' + scope[2] + '/' + scope[3] + '/' + scope[4];
  }
  static std::string signature_of(const std::string& canonical, const std::string& secret,
                                  const std::string& date, const std::vector<std::string>& scope) {
    return hmac_hex(key_of(secret, scope), "AWS4-HMAC-SHA256\n" + date + '\n' + text_of(scope) +
                                               '\n' + net::sha256_hex(mds::as_bytes(canonical)));
  }

  static std::string canonical_request(const scripted_request& raw, const std::string& names) {
    const std::size_t mark = raw.target.find('?');
    auto query = split(mark == std::string::npos ? "" : raw.target.substr(mark + 1), '&');
    std::sort(query.begin(), query.end());
    std::string out = raw.method + '\n' + raw.target.substr(0, mark) + '\n';
    for (std::size_t i = 0; i < query.size(); ++i) out += (i == 0 ? "" : "&") + query[i];
    out += '\n';
    for (const std::string& name : split(names, ';')) out += name + ':' + raw.header(name) + '\n';
    return out + '\n' + names + '\n' + raw.header("x-amz-content-sha256");
  }

  static std::optional<answer> check_payload(question& asked, const std::string& key,
                                             const std::string& scope, std::string before) {
    const std::string hash = asked.raw.header("x-amz-content-sha256");
    if (hash == "UNSIGNED-PAYLOAD") return std::nullopt;
    if (hash != "STREAMING-AWS4-HMAC-SHA256-PAYLOAD") {
      const bool right = hash == net::sha256_hex(mds::as_bytes(asked.body));
      return right ? std::nullopt : std::optional(refusal(400, "XAmzContentSHA256Mismatch"));
    }
    std::string body;
    for (std::size_t at = 0;;) {
      const std::size_t line = asked.raw.body.find("\r\n", at);
      const std::string head = asked.raw.body.substr(at, line - at);
      const std::size_t size = std::stoul(head, nullptr, 16);
      const std::string chunk = asked.raw.body.substr(line + 2, size);
      const std::string signature =
          hmac_hex(key, "AWS4-HMAC-SHA256-PAYLOAD\n" + scope + '\n' + before + '\n' +
                            net::sha256_hex({}) + '\n' + net::sha256_hex(mds::as_bytes(chunk)));
      if (head.substr(head.find('=') + 1) != signature)
        return refusal(403, "SignatureDoesNotMatch");
      before = signature;
      body += chunk;
      at = line + 2 + size + 2;
      if (size == 0) break;
    }
    if (asked.raw.header("x-amz-decoded-content-length") != std::to_string(body.size())) {
      return refusal(400, "IncompleteBody");
    }
    asked.body = std::move(body);
    return std::nullopt;
  }

  /// What the headers say of the bytes of an upload.
  static std::optional<answer> check_checksums(const question& asked) {
    const std::string front = "x-amz-checksum-";
    for (const auto& [name, value] : asked.raw.headers) {
      if (!name.starts_with(front) || name == front + "algorithm") continue;
      if (name != front + "crc32c") return refusal(400, "InvalidRequest");
      if (value != crc32c_of(asked.body)) return refusal(400, "BadDigest");
    }
    return std::nullopt;
  }

  static std::string crc32c_of(const std::string& bytes) {
    const std::uint32_t crc = mds::detail::crc32c(mds::as_bytes(bytes));
    std::string digest;
    for (const int shift : {24, 16, 8, 0}) digest += static_cast<char>(crc >> shift & 0xFF);
    return mds::detail::to_base64(mds::as_bytes(digest));
  }

  // ---- what S3 does

  static std::string tag(const std::string& bytes) { return '"' + md5_hex(bytes) + '"'; }

  /// As the service documents it: the MD5 of the parts' MD5s, and their number.
  static std::string tag_of_parts(const std::map<int, std::string>& parts) {
    std::string digests;
    for (const auto& [number, part] : parts) digests += md5(part);
    return '"' + md5_hex(digests) + '-' + std::to_string(parts.size()) + '"';
  }

  static std::string md5(const std::string& bytes) {
    std::string out(16, '\0');
    EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(out.data()), nullptr,
               EVP_md5(), nullptr);
    return out;
  }
  static std::string md5_hex(const std::string& bytes) {
    return mds::detail::to_hex(mds::as_bytes(md5(bytes)));
  }

  [[nodiscard]] std::string tag_of(const std::string& key) const {
    const auto in_parts = tags_.find(key);
    return in_parts == tags_.end() ? tag(objects_.at(key)) : in_parts->second;
  }

  answer act(const question& asked) {
    const std::string& method = asked.raw.method;
    if (asked.query.count("list-type") != 0) return list(asked);
    if (asked.query.count("uploads") != 0 || asked.query.count("uploadId") != 0) {
      return upload(asked);
    }
    if (method == "PUT") {
      if (const auto refused = check_checksums(asked)) return *refused;
      if (asked.raw.header("if-none-match") == "*" && objects_.count(asked.key) != 0) {
        return refusal(412, "PreconditionFailed");
      }
      objects_[asked.key] = asked.body;
      tags_.erase(asked.key);
      return {200, "", "ETag: " + tag(asked.body) + "\r\n"};
    }
    if (method == "DELETE") {
      objects_.erase(asked.key);
      return {204};
    }
    const auto at = objects_.find(asked.key);
    if (at == objects_.end()) return refusal(404, "NoSuchKey");
    const std::string headers = "ETag: " + tag_of(asked.key) + "\r\n";
    const std::string condition = asked.raw.header("if-match");
    if (!condition.empty() && condition != tag_of(asked.key))
      return refusal(412, "PreconditionFailed");
    if (method == "HEAD") {
      return {200, "", headers + "Content-Length: " + std::to_string(at->second.size()) + "\r\n"};
    }
    return range(asked.raw.header("range"), at->second, headers);
  }

  static answer range(const std::string& asked, const std::string& bytes, std::string headers) {
    if (asked.empty()) return {200, bytes, headers};
    const std::size_t dash = asked.find('-');
    const std::size_t first = std::stoul(asked.substr(6)),
                      last = std::stoul(asked.substr(dash + 1));
    const std::string total = std::to_string(bytes.size());
    if (first >= bytes.size()) {
      return refusal(416, "InvalidRange", "", "Content-Range: bytes */" + total + "\r\n");
    }
    const std::string part = bytes.substr(first, last - first + 1);
    headers += "Content-Range: bytes " + std::to_string(first) + '-' +
               std::to_string(first + part.size() - 1) + '/' + total + "\r\n";
    return {206, part, headers};
  }

  answer list(const question& asked) {
    const auto value = [&](const std::string& name) {
      const auto at = asked.query.find(name);
      return at == asked.query.end() ? "" : at->second;
    };
    const std::string prefix = value("prefix");
    auto at = objects_.lower_bound(
        std::max(prefix, net::percent_decode(value("continuation-token")).value()));
    std::string body = "<ListBucketResult><EncodingType>url</EncodingType>";
    std::size_t count = 0;
    for (; at != objects_.end() && at->first.starts_with(prefix) && count < page; ++at, ++count) {
      body += "<Contents><Key>" + net::percent_encode(at->first) + "</Key><Size>" +
              std::to_string(at->second.size()) + "</Size><ETag>" + tag_of(at->first) +
              "</ETag></Contents>";
    }
    const bool more = at != objects_.end() && at->first.starts_with(prefix);
    body += std::string("<IsTruncated>") + (more ? "true" : "false") + "</IsTruncated>";
    if (more) {
      body += "<NextContinuationToken>" + net::percent_encode(at->first, "/") +
              "</NextContinuationToken>";
    }
    return {200, body + "</ListBucketResult>"};
  }

  answer upload(const question& asked) {
    if (asked.query.count("uploads") != 0) {
      const std::string id = "upload+" + std::to_string(++last_upload_) + "/=";
      uploads_[id] = {};
      return {200, "<InitiateMultipartUploadResult><UploadId>" + id +
                       "</UploadId></InitiateMultipartUploadResult>"};
    }
    const auto at = uploads_.find(asked.query.at("uploadId"));
    if (at == uploads_.end()) return refusal(404, "NoSuchUpload");
    if (asked.raw.method == "PUT") {
      if (const auto refused = check_checksums(asked)) return *refused;
      at->second[std::stoi(asked.query.at("partNumber"))] = asked.body;
      return {200, "", "ETag: " + tag(asked.body) + "\r\n"};
    }
    if (asked.raw.method == "DELETE") {
      uploads_.erase(at);
      return {204};
    }
    if (asked.raw.header("if-none-match") == "*" && objects_.count(asked.key) != 0) {
      return refusal(412, "PreconditionFailed");
    }
    // Checksums are those of all parts, or of none.
    const bool tells = asked.body.find("<ChecksumCRC32C>") != std::string::npos;
    std::string whole,
        message = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
    for (const auto& [number, part] : at->second) {
      message += "<Part><PartNumber>" + std::to_string(number) + "</PartNumber><ETag>" + tag(part) +
                 "</ETag>";
      if (tells) message += "<ChecksumCRC32C>" + crc32c_of(part) + "</ChecksumCRC32C>";
      message += "</Part>";
      whole += part;
    }
    if (asked.body != message + "</CompleteMultipartUpload>") return refusal(400, "InvalidPart");
    objects_[asked.key] = whole;
    tags_[asked.key] = tag_of_parts(at->second);
    uploads_.erase(at);
    return {200, "<CompleteMultipartUploadResult/>"};
  }

  std::mutex mutex_;
  std::map<std::string, std::string> objects_;
  std::map<std::string, std::string> tags_;  // of those that came in parts
  std::map<std::string, std::map<int, std::string>> uploads_;
  int last_upload_ = 0;
  support::scripted_server web_;  // last: its threads use what stands above
};

}  // namespace fake_s3
