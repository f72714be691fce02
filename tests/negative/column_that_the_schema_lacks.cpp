// says: mdstream: the schema has no column of this name
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

using policies = mds::policies<mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t, 8>>>>;
}  // namespace

std::size_t use(mds::loader<policies>& loader) {
  std::size_t sum = 0;
  for (auto& batch : loader.epoch()) {
#ifdef CORRECTED
    sum += batch.get<"tokens">().size();
#else
    sum += batch.get<"token">().size();
#endif
  }
  return sum;
}
