#pragma once

#include <mdstream/core/detail/text.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/xml.hpp>
#include <mdstream/store/detail/digest.hpp>
#include <mdstream/store/detail/s3/messages.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE s3_error parse_s3_error(std::string_view text) {
  s3_error out;
  try {
    net::xml_reader in(text);
    if (in.begin() != "Error") return out;
    while (const auto name = in.next_child()) {
      if (*name == "Code") {
        out.code = in.text();
      } else if (*name == "Message") {
        out.message = in.text();
      } else if (*name == "Region") {
        out.region = in.text();
      } else {
        in.skip();
      }
    }
  } catch (const error&) {
  }
  return out;
}

MDSTREAM_INLINE s3_page parse_s3_page(std::string_view text, const diagnostics& where) {
  s3_page out;
  bool truncated = false, encoded = false;
  const auto fail = [&](const char* what) {
    diagnostics about = where;
    about.what = std::string("the listing is not one: ") + what;
    throw error(errc::corrupt, std::move(about));
  };
  const auto read_object = [&](net::xml_reader& in) {
    object_info one;
    bool has_size = false;
    while (const auto name = in.next_child()) {
      if (*name == "Key") {
        one.key = in.text();
      } else if (*name == "Size") {
        const auto bytes = whole_number<std::uint64_t>(in.text());
        if (!bytes) fail("a size is no number");
        one.bytes = *bytes;
        has_size = true;
      } else if (*name == "ETag") {
        std::string tag = in.text();
        one.digest = digest_of_tag(tag);
        if (tag.starts_with('"')) one.tag = std::move(tag);  // as a header has it
      } else {
        in.skip();
      }
    }
    if (one.key.empty() || !has_size) fail("an object has no key or no size");
    out.objects.push_back(std::move(one));
  };
  net::xml_reader in(text, where);
  in.begin("ListBucketResult");
  while (const auto name = in.next_child()) {
    if (*name == "Contents") {
      read_object(in);
    } else if (*name == "IsTruncated") {
      truncated = in.text() == "true";
    } else if (*name == "NextContinuationToken") {
      out.next = in.text();
    } else if (*name == "EncodingType") {
      encoded = in.text() == "url";
    } else {
      in.skip();
    }
  }
  in.finish();
  for (object_info& each : out.objects) {
    if (!encoded) break;
    for (char& c : each.key) c = c == '+' ? ' ' : c;  // form encoding: some write a space so
    auto key = net::percent_decode(each.key);
    if (!key) fail("a key has a broken escape");
    each.key = *std::move(key);
  }
  if (truncated && out.next.empty()) fail("it goes on, but does not say where");
  if (!truncated) out.next.clear();
  return out;
}

MDSTREAM_INLINE std::string parse_s3_upload_id(std::string_view text, const diagnostics& where) {
  std::string id;
  net::xml_reader in(text, where);
  in.begin("InitiateMultipartUploadResult");
  while (const auto name = in.next_child()) {
    if (*name == "UploadId") {
      id = in.text();
    } else {
      in.skip();
    }
  }
  if (id.empty()) {
    diagnostics about = where;
    about.what = "the answer has no id for the upload";
    throw error(errc::corrupt, std::move(about));
  }
  return id;
}

MDSTREAM_INLINE bool is_s3_completion(std::string_view text) {
  try {
    net::xml_reader in(text);
    in.begin("CompleteMultipartUploadResult");
    in.skip();
    in.finish();
    return true;
  } catch (const error&) {
    return false;
  }
}

MDSTREAM_INLINE std::string s3_parts_message(const std::vector<std::string>& tags,
                                             const std::vector<std::string>& crcs) {
  std::string out = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (std::size_t i = 0; i < tags.size(); ++i) {
    out += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>";
    for (const char c : tags[i]) {
      if (c == '&') {
        out += "&amp;";
      } else if (c == '<') {
        out += "&lt;";
      } else {
        out += c;
      }
    }
    out += "</ETag>";
    if (!crcs.empty()) out += "<ChecksumCRC32C>" + crcs[i] + "</ChecksumCRC32C>";
    out += "</Part>";
  }
  return out + "</CompleteMultipartUpload>";
}

}  // namespace mdstream::inline v0::detail
