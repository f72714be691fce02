#pragma once

/// All formats that need no further library.

#include <mdstream/raw/csv.hpp>
#include <mdstream/raw/files.hpp>
#include <mdstream/raw/jsonl.hpp>
#include <mdstream/raw/text.hpp>
#include <mdstream/raw/tokens.hpp>
#include <mdstream/raw/webdataset.hpp>

namespace mdstream::inline v0::raw {

/// The formats that need no further library.
///
///     using policies = mds::policies<mds::full_store, mds::full_codec, mds::raw::plain_formats>;
using plain_formats = any_format<jsonl, text, csv, webdataset, files, images, tokens>;

}  // namespace mdstream::inline v0::raw
