#pragma once

/// The XML that S3 answers, and that it is sent. Pure; every byte is a server's and is checked.
/// Source: Amazon S3 API Reference.

#include <mdstream/core/error.hpp>
#include <mdstream/store/store.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// What an `<Error>` says; empty members where it says nothing.
struct s3_error {
  std::string code{};
  std::string message{};
  std::string region{};  ///< the bucket's, in answers to a request signed for another
};

/// One page of a listing.
struct s3_page {
  std::vector<object_info> objects{};  ///< whole keys
  std::string next{};                  ///< the token of the next page; empty at the end
};

/// Reads an error's body. Takes any text: what is no `<Error>` gives an empty one.
[[nodiscard]] s3_error parse_s3_error(std::string_view text);

/// Reads the answer to ListObjectsV2. Throws `errc::corrupt` for anything else.
[[nodiscard]] s3_page parse_s3_page(std::string_view text, const diagnostics& where);

/// The upload's id of an answer to CreateMultipartUpload. Throws `errc::corrupt` where there is
/// none.
[[nodiscard]] std::string parse_s3_upload_id(std::string_view text, const diagnostics& where);

/// Whether a text is the answer to a CompleteMultipartUpload that made the object.
[[nodiscard]] bool is_s3_completion(std::string_view text);

/// The body of CompleteMultipartUpload: the tags of all parts, the first being part 1, and their
/// CRC32C where there are any.
[[nodiscard]] std::string s3_parts_message(const std::vector<std::string>& tags,
                                           const std::vector<std::string>& crcs = {});

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/s3/messages.ipp>
#endif
