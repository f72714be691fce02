#pragma once

/// Everything: all stores, codecs and hashes of the library, chosen when the program runs. Link
/// mdstream::full.

#include <mdstream/codec/full.hpp>
#include <mdstream/hash/full.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/source/formats.hpp>
#include <mdstream/store/full.hpp>

namespace mdstream::inline v0 {

/// `mds::loader<mds::full_policies>` opens whatever MosaicML Streaming could have written.
using full_policies = policies<full_store, full_codec, full_hash, raw::plain_formats>;

}  // namespace mdstream::inline v0
