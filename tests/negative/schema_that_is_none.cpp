// says: mdstream: policies<...>: this type is no policy
// says: columns_of_mine
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

struct columns_of_mine {};

#ifdef CORRECTED
using policies = mds::policies<mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t, 8>>>>;
#else
using policies = mds::policies<columns_of_mine>;
#endif
}  // namespace

void use(const std::string& where) { mds::dataset<policies> dataset({.local = where}); }
