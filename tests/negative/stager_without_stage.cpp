// says: mdstream: policies<...>: a stager has to model stage::stager
// says: stage
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

struct my_stager {
  using slot = mds::stage::host::slot;
  static constexpr std::string_view name = "mine";
#ifdef CORRECTED
  slot stage(const mds::collate::collate_plan& plan) { return inner.stage(plan); }
  mds::stage::host inner;
#endif
};

using policies = mds::policies<my_stager>;
}  // namespace

void use(const std::string& where) {
  mds::loader<policies> loader({.local = where, .batch_size = 4});
}
