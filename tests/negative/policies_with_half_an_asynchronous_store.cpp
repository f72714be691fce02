// says: mdstream: policies<...>: an asynchronous store has to model async_store
// says: async_remove
#include <mdstream/mdstream.hpp>
#include <mdstream/store/any_async_store.hpp>

namespace {
namespace mds = mdstream;

struct my_store : mds::any_async_store {
  using mds::any_async_store::any_async_store;
#ifndef CORRECTED
  void async_remove() const;  // hides the other
#endif
};
using policies = mds::policies<my_store>;
}  // namespace

using store = policies::store;
