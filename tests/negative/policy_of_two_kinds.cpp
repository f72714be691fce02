// says: mdstream: policies<...>: this type models the concepts of two policies
// says: counting_shuffler
// g++ says: policy_kind::shuffler
// g++ says: policy_kind::observer
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

struct counting_shuffler {
  static constexpr std::string_view name() { return "mine"; }
  mds::detail::any_sequence open(const mds::shuffle_task& task) const {
    return mds::shuffle::py1e{}.open(task);
  }
#ifndef CORRECTED
  void operator()(const mds::observe::step&) {}  // an observer, too
#endif
};
using policies = mds::policies<counting_shuffler>;
}  // namespace

void use(const std::string& where) {
  mds::loader<policies> loader({.local = where, .batch_size = 4});
}
