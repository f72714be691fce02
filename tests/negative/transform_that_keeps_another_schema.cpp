// says: mdstream: write
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

using rows = mds::schema<mds::column<"x", mds::int_>>;
#ifdef CORRECTED
using kept = rows;
#else
using kept = mds::schema<mds::column<"y", mds::int_>>;
#endif
}  // namespace

void use(mds::results_writer<rows>& out, const mds::sample_view<kept>& in) { out.write(in); }
