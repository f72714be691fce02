#pragma once

/// The formats of foreign files that this program reads: all that its build had the libraries of.

#include <mdstream/full.hpp>
#ifdef MDSTREAM_CLI_PARQUET
#include <mdstream/raw/parquet.hpp>
#endif

namespace cli {

#ifdef MDSTREAM_CLI_PARQUET
using formats = mdstream::raw::plain_formats::with<mdstream::raw::parquet>;
#else
using formats = mdstream::raw::plain_formats;
#endif

using policies = mdstream::full_policies::with<formats>;

}  // namespace cli
