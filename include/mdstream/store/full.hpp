#pragma once

/// All stores of the library by URL. Link mdstream::curl.

#include <mdstream/store/any_store.hpp>
#include <mdstream/store/http.hpp>
#include <mdstream/store/local.hpp>

namespace mdstream::inline v0 {

using full_store = any_store<store::local, store::http>;

}  // namespace mdstream::inline v0
