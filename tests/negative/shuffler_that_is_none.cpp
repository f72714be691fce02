// says: mdstream: policies<...>: a shuffler has to model shuffler
// says: open
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

struct my_shuffler {
  static constexpr std::string_view name() { return "mine"; }
#ifdef CORRECTED
  mds::detail::any_sequence open(const mds::shuffle_task& task) const {
    return mds::shuffle::py1e{}.open(task);
  }
#endif
};

using policies = mds::policies<my_shuffler>;
}  // namespace

void use(const std::string& where) {
  mds::loader<policies> loader({.local = where, .batch_size = 4});
}
