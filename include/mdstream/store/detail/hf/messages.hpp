#pragma once

/// What the Hugging Face Hub and its store of large files are sent when an object is written, and
/// what they answer. Pure; every byte of an answer is checked. Source: the Hub's published API, and
/// Git LFS's batch API.

#include <mdstream/core/json/value.hpp>
#include <mdstream/net/http_message.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail::hf {

/// Asks whether an object goes into the repository itself or into Git LFS.
[[nodiscard]] std::string mode_question(const std::string& key, bytes_view bytes);

/// Whether it goes into Git LFS.
[[nodiscard]] bool goes_to_lfs(std::string_view text, std::string_view key);

[[nodiscard]] inline json::object lfs_object(const std::string& sha256, std::uint64_t bytes) {
  return {{"oid", sha256}, {"size", bytes}};
}

/// Asks where the bytes of that hash are to be sent.
[[nodiscard]] std::string place_question(const std::string& sha256, std::uint64_t bytes,
                                         const std::string& revision);

/// Where the bytes of an object of Git LFS are to be sent.
struct lfs_place {
  bool has_it = false;         ///< nowhere: they are there
  std::string href{};          ///< takes the bytes; where there are parts, the list of these
  std::uint64_t part_bytes{};  ///< of every part but the last
  std::vector<std::string> parts{};
  std::string verify{};  ///< wants to be asked whether all came; empty: nobody does
};

/// Bytes go to an https URL, or to an http one where the endpoint is of http itself.
void require_upload_url(std::string_view url, const net::uri& endpoint);

[[nodiscard]] std::vector<std::string> part_urls(const json::value& header);

/// A number that may be written as a text.
[[nodiscard]] std::uint64_t number_of(const json::value& value);

[[nodiscard]] lfs_place read_place(const json::value& object, std::uint64_t bytes,
                                   const net::uri& endpoint);

/// Reads the answer to `place_question`, of an object that is not empty.
[[nodiscard]] lfs_place parse_place(std::string_view text, const std::string& sha256,
                                    std::uint64_t bytes, const net::uri& endpoint);

/// Puts the parts together whose ETags are given, in their order.
[[nodiscard]] std::string parts_list(const std::string& sha256,
                                     const std::vector<std::string>& tags);

/// One change of a commit, as a line.
[[nodiscard]] std::string change_line(const char* kind, json::object about);
[[nodiscard]] std::string file_line(const std::string& key, bytes_view bytes);
[[nodiscard]] std::string lfs_line(const std::string& key, const std::string& sha256,
                                   std::uint64_t bytes);
[[nodiscard]] inline std::string deletion_line(const std::string& key) {
  return change_line("deletedFile", {{"path", key}});
}
[[nodiscard]] std::string header_line(const std::string& summary, const std::string& description);

/// Whether the Hub's list of a branch's commits has one of this description.
[[nodiscard]] bool has_commit(const std::string& history, std::string_view description);

/// What answers a commit is one's name.
void require_commit(const net::http_response& answer);

}  // namespace mdstream::inline v0::detail::hf

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/hf/messages.ipp>
#endif
