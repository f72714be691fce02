#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/store/detail/cloud/settings.hpp>
#include <mdstream/store/detail/hf/messages.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace mdstream::inline v0::detail::hf {

MDSTREAM_INLINE std::string mode_question(const std::string& key, bytes_view bytes) {
  constexpr std::size_t sample = 512;
  return json::dump(json::object{
      {"files",
       json::array{json::object{{"path", key},
                                {"sample", to_base64(bytes.first(std::min(bytes.size(), sample)))},
                                {"size", bytes.size()}}}}});
}

MDSTREAM_INLINE bool goes_to_lfs(std::string_view text, std::string_view key) {
  const json::value said = json::parse(text);
  for (const json::value& each : said.get<json::array>("files")) {
    if (each.get<std::string>("path") != key) continue;
    const json::value* const ignored = each.find("shouldIgnore");
    if (ignored != nullptr && ignored->as<bool>("shouldIgnore")) {
      throw error(errc::unsupported, "the repository's .gitignore leaves this name out");
    }
    const auto mode = each.get<std::string>("uploadMode");
    if (mode == "lfs") return true;
    if (mode == "regular") return false;
  }
  throw error(errc::corrupt, "the Hub does not say how the file is to be uploaded");
}

MDSTREAM_INLINE std::string place_question(const std::string& sha256, std::uint64_t bytes,
                                           const std::string& revision) {
  return json::dump(json::object{{"operation", "upload"},
                                 {"transfers", json::array{"basic", "multipart"}},
                                 {"objects", json::array{lfs_object(sha256, bytes)}},
                                 {"hash_algo", "sha256"},
                                 {"ref", json::object{{"name", revision}}}});
}

MDSTREAM_INLINE void require_upload_url(std::string_view url, const net::uri& endpoint) {
  detail::cloud::require_signed_url(url, endpoint,
                                    "the Hub has the file sent to where it must not go:");
}

MDSTREAM_INLINE std::vector<std::string> part_urls(const json::value& header) {
  std::map<std::uint64_t, std::string> urls;
  for (const auto& [name, value] : header.as<json::object>("header")) {
    const auto number = net::detail::whole_number<std::uint64_t>(name);
    if (number) urls.emplace(*number, value.as<std::string>(name));
  }
  std::vector<std::string> out;
  for (auto& [number, url] : urls) out.push_back(std::move(url));
  return out;
}

MDSTREAM_INLINE std::uint64_t number_of(const json::value& value) {
  if (value.type() != json::kind::string) return value.as<std::uint64_t>("chunk_size");
  const auto found = net::detail::whole_number<std::uint64_t>(value.as<std::string>("chunk_size"));
  if (!found) throw error(errc::corrupt, "the Hub's \"chunk_size\" is no number");
  return *found;
}

MDSTREAM_INLINE lfs_place read_place(const json::value& object, std::uint64_t bytes,
                                     const net::uri& endpoint) {
  lfs_place out;
  const json::value* const actions = object.find("actions");
  const json::value* const upload = actions == nullptr ? nullptr : actions->find("upload");
  if (upload == nullptr) {
    out.has_it = true;
    return out;
  }
  out.href = upload->get<std::string>("href");
  require_upload_url(out.href, endpoint);
  const json::value* const header = upload->find("header");
  const json::value* const chunk = header == nullptr ? nullptr : header->find("chunk_size");
  if (chunk != nullptr) {
    out.part_bytes = number_of(*chunk);
    out.parts = part_urls(*header);
    for (const std::string& each : out.parts) require_upload_url(each, endpoint);
    const std::uint64_t last = out.part_bytes == 0 ? 0 : (bytes - 1) / out.part_bytes;
    if (out.part_bytes == 0 || out.parts.size() != last + 1) {
      throw error(errc::corrupt, "the Hub's parts of the file are not as many as its size has");
    }
  }
  if (const json::value* const verify = actions->find("verify")) {
    out.verify = verify->get<std::string>("href");
    require_upload_url(out.verify, endpoint);
  }
  return out;
}

MDSTREAM_INLINE lfs_place parse_place(std::string_view text, const std::string& sha256,
                                      std::uint64_t bytes, const net::uri& endpoint) {
  const json::value said = json::parse(text);
  for (const json::value& each : said.get<json::array>("objects")) {
    if (each.get<std::string>("oid") != sha256) continue;
    if (const json::value* const failure = each.find("error")) {
      throw error(errc::invalid_argument,
                  "the Hub refuses the file with code " + failure->at("code").digits());
    }
    return read_place(each, bytes, endpoint);
  }
  throw error(errc::corrupt, "the Hub does not say where the file is to be sent");
}

MDSTREAM_INLINE std::string parts_list(const std::string& sha256,
                                       const std::vector<std::string>& tags) {
  json::array parts;
  for (const std::string& tag : tags) {
    parts.push_back(json::object{{"partNumber", parts.size() + 1}, {"etag", tag}});
  }
  return json::dump(json::object{{"oid", sha256}, {"parts", std::move(parts)}});
}

MDSTREAM_INLINE std::string change_line(const char* kind, json::object about) {
  return json::dump(json::object{{"key", kind}, {"value", std::move(about)}}) + '\n';
}

MDSTREAM_INLINE std::string file_line(const std::string& key, bytes_view bytes) {
  return change_line("file",
                     {{"content", to_base64(bytes)}, {"path", key}, {"encoding", "base64"}});
}

MDSTREAM_INLINE std::string lfs_line(const std::string& key, const std::string& sha256,
                                     std::uint64_t bytes) {
  return change_line("lfsFile",
                     {{"path", key}, {"algo", "sha256"}, {"oid", sha256}, {"size", bytes}});
}

MDSTREAM_INLINE std::string header_line(const std::string& summary,
                                        const std::string& description) {
  return change_line("header", {{"summary", summary}, {"description", description}});
}

MDSTREAM_INLINE bool has_commit(const std::string& history, std::string_view description) {
  const json::value commits = json::parse(history);
  return std::ranges::any_of(commits.as<json::array>("the commits"), [&](const json::value& each) {
    return each.get<std::string>("message").find(description) != std::string::npos;
  });
}

MDSTREAM_INLINE void require_commit(const net::http_response& answer) {
  if (!json::parse(answer.text).get<std::string>("commitOid").empty()) return;
  throw error(errc::corrupt, "the Hub does not tell the commit that it made");
}

}  // namespace mdstream::inline v0::detail::hf
