// says: mdstream: policies<...>: an observer has to model observe::observer
// says: tell(what)
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

struct my_observer {
  static constexpr std::string_view name() { return "mine"; }  // as shufflers have
#ifdef CORRECTED
  void operator()(const mds::observe::step&) {}
#else
  void operator()(mds::observe::step&) {}
#endif
};
using policies = mds::policies<my_observer>;
}  // namespace

void use(const std::string& where) {
  mds::loader<policies> loader({.local = where, .batch_size = 4});
}
