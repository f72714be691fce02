// says: mdstream: the column has another encoding
#include <mdstream/format/pickle.hpp>
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

#ifdef CORRECTED
using policies = mds::policies<mds::schema<mds::column<"p", mds::pkl>>>;
#else
using policies = mds::policies<mds::schema<mds::column<"p", mds::bytes>>>;
#endif
}  // namespace

std::string use(const mds::dataset<policies>& data) {
  const auto sample = data[0];
  return sample.get<"p", mds::pickled>().text;
}
