#pragma once

/// The ETag of an object that was uploaded in parts. Needs OpenSSL: link mdstream::s3.

#include <optional>
#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

/// As S3 makes it where parts have the MD5 of their bytes as ETags: the MD5 of those digests, and
/// the number of parts. Nothing where the parts' ETags are others (SSE-KMS, some services) or this
/// OpenSSL has no MD5.
[[nodiscard]] std::optional<std::string> tag_of_parts(const std::vector<std::string>& tags);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/s3/part_tags.ipp>
#endif
