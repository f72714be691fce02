#pragma once

/// All codecs of the format by name. Link mdstream::zstd, mdstream::gz,
/// mdstream::bz2, mdstream::br and mdstream::snappy.

#include <mdstream/codec/br.hpp>
#include <mdstream/codec/bz2.hpp>
#include <mdstream/codec/gz.hpp>
#include <mdstream/codec/none.hpp>
#include <mdstream/codec/snappy.hpp>
#include <mdstream/codec/zstd.hpp>

namespace mdstream::inline v0 {

/// Every codec of the library, chosen by name at run time. Needs all codec components.
///
///     using policies = mds::policies<mds::full_codec>;  // a writer's .compression = "br:5"
using full_codec =
    any_codec<codec::none, codec::zstd, codec::gz, codec::bz2, codec::br, codec::snappy>;

}  // namespace mdstream::inline v0
