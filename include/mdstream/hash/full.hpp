#pragma once

/// All hashes of the format by name. Link mdstream::openssl and mdstream::xxhash.

#include <mdstream/hash/openssl.hpp>
#include <mdstream/hash/xxhash.hpp>

#include <chrono>

namespace mdstream::inline v0 {

/// Every hash of the library, chosen by name at run time. Needs the components openssl and xxhash.
using full_hash =
    any_hash<hash::blake2b, hash::blake2s, hash::md5, hash::sha1, hash::sha224, hash::sha256,
             hash::sha384, hash::sha512, hash::sha3_224, hash::sha3_256, hash::sha3_384,
             hash::sha3_512, hash::xxh32, hash::xxh64, hash::xxh3_64, hash::xxh3_128>;

}  // namespace mdstream::inline v0
