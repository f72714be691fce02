// says: mdstream: write names a column twice
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

using policies =
    mds::policies<mds::schema<mds::column<"id", mds::int_>, mds::column<"text", mds::str>>>;
}  // namespace

void use(mds::writer<policies>& writer) {
#ifdef CORRECTED
  writer.write(mds::col<"text">("one"), mds::col<"id">(1));
#else
  writer.write(mds::col<"id">(1), mds::col<"text">("one"), mds::col<"id">(2));
#endif
}
