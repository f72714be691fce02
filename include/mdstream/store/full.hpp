#pragma once

/// All stores of the library by URL. Link mdstream::curl and mdstream::s3.

#include <mdstream/store/any_store.hpp>
#include <mdstream/store/http.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/s3.hpp>

namespace mdstream::inline v0 {

using full_store = any_store<store::local, store::http, store::s3>;

}  // namespace mdstream::inline v0
