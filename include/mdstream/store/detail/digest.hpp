#pragma once

/// What stores tell of an object's bytes besides their number. Pure.
///
/// A digest is one text whatever the store: the name of the hash, a colon and lower-case
/// hexadecimal digits, as `md5:d41d8cd98f00b204e9800998ecf8427e`. Names: `md5`, `sha256`, `crc32c`;
/// `git-sha1`, Git's name of a blob of these bytes; and `md5-of-parts` with `-N` behind the digits,
/// S3's ETag of an object that was uploaded in N parts. Several have a space between them. Empty:
/// nothing is told.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// An ETag without its quotes.
[[nodiscard]] std::string_view unquoted(std::string_view tag) noexcept;

/// The digest that an S3 ETag is, with its quotes or without. A tag of another form is none. One of
/// this form may be none, too, where objects are encrypted by SSE-KMS or SSE-C: nothing shows it.
[[nodiscard]] std::string digest_of_tag(std::string_view tag);

/// The digest of that name whose `digits` are given as hexadecimal in lower case; empty where they
/// are none, or not so many.
[[nodiscard]] std::string digest_of_hex(std::string_view name, std::size_t digits,
                                        std::string_view text);

/// The digest of that name whose `bytes` are given as base64; empty where they are not so many.
[[nodiscard]] std::string digest_of_base64(std::string_view name, std::size_t bytes,
                                           std::string_view text);

/// The checksum in four bytes, the highest first.
[[nodiscard]] std::string digest_of_crc32c(std::uint32_t crc);

/// The digests that one text has.
[[nodiscard]] std::vector<std::string_view> digests_of(std::string_view text);

/// The digest of that hash among those that one text has; empty if it has none of that hash.
[[nodiscard]] std::string_view digest_by(std::string_view name, std::string_view text);

/// Whether two texts of digests are of the same bytes. Nothing where they cannot tell: one is
/// empty, or they are of different hashes or numbers of parts. The same bytes in as many parts of
/// other sizes pass for different: a copy that trusts this is made once too often, and never keeps
/// what is old.
[[nodiscard]] std::optional<bool> same_bytes(std::string_view a, std::string_view b);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/digest.ipp>
#endif
