#pragma once

/// All shufflers of the library, and the choice among them by name.

#include <mdstream/order/shuffle/bijection.hpp>
#include <mdstream/order/shuffle/naive.hpp>
#include <mdstream/order/shuffle/py1br.hpp>
#include <mdstream/order/shuffle/py1e.hpp>
#include <mdstream/order/shuffle/py1s.hpp>
#include <mdstream/order/shuffle/py2s.hpp>
#include <mdstream/order/shuffler.hpp>

namespace mdstream::inline v0::shuffle {

/// Any shuffler of the library by name, py1e until then.
///
///     options.shuffle_algo = "py1br";  // of a loader whose policies name no shuffler
using any = any_shuffler<py1e, bijection, py1br, py1s, py2s, naive>;

}  // namespace mdstream::inline v0::shuffle
