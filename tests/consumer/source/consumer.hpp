// What both translation units of the consumer share.
#pragma once

#include <mdstream/codec/zstd.hpp>
#include <mdstream/mdstream.hpp>

#include <cstdint>
#include <string>

namespace mds = mdstream;

using policies =
    mds::policies<mds::schema<mds::column<"token", std::uint32_t>, mds::column<"weight", double>>,
                  mds::codec::zstd, mds::collate::dense>;

inline constexpr std::uint32_t sample_count = 1000;

void write_dataset(const std::string& where);
