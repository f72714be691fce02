// says: mdstream: the schema has no column of this name
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

using policies = mds::policies<mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t, 8>>>>;
}  // namespace

std::size_t use(const mds::dataset<policies>& dataset) {
  const auto sample = dataset[0];
#ifdef CORRECTED
  return sample.get<"tokens">().size();
#else
  return sample.get<"token">().size();
#endif
}
