#pragma once

/// Files of SSH keys, as far as a store has to know them. Pure.

#include <string_view>

namespace mdstream::inline v0::detail::sftp {

/// Whether a private key is encrypted by a passphrase: one of OpenSSH's own form (PROTOCOL.key), of
/// PKCS#8, or of the older PEM form (RFC 1421). False for what is no key.
[[nodiscard]] bool is_encrypted_key(std::string_view text);

}  // namespace mdstream::inline v0::detail::sftp

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/sftp/key_file.ipp>
#endif
