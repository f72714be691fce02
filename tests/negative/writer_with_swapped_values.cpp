// says: mdstream: write: this column does not take a value of this type
// says: "label"
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

using policies =
    mds::policies<mds::schema<mds::column<"text", mds::str>, mds::column<"label", mds::int_>>>;
}  // namespace

void use(mds::writer<policies>& writer) {
#ifdef CORRECTED
  writer.write("a text", 1);
#else
  writer.write(1, "a text");
#endif
}
