#pragma once

/// All stores of the library by URL. Link mdstream::full.

#include <mdstream/store/alipan.hpp>
#include <mdstream/store/any_store.hpp>
#include <mdstream/store/azure.hpp>
#include <mdstream/store/dbfs.hpp>
#include <mdstream/store/gs.hpp>
#include <mdstream/store/hf.hpp>
#include <mdstream/store/http.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/oci.hpp>
#include <mdstream/store/s3.hpp>
#include <mdstream/store/sftp.hpp>

namespace mdstream::inline v0 {

/// Every store of the library, chosen by URL at run time. Needs all components of stores.
///
///     using policies = mds::policies<mds::full_store, mds::full_codec, mds::full_hash>;
using full_store = any_store<store::local, store::http, store::s3, store::azure, store::gs,
                             store::oci, store::dbfs, store::hf, store::sftp, store::alipan>;

}  // namespace mdstream::inline v0
