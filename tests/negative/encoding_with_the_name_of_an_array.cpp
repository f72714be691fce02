// says: mdstream: no dataset is read whose index has an ndarray that MDS does not define
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

struct floats {
#ifdef CORRECTED
  static constexpr std::string_view name = "floats";
#else
  static constexpr std::string_view name = "ndarray:float";
#endif
  using view = mds::bytes_view;
  static view decode(mds::bytes_view value) { return value; }
};

using rows = mds::schema<mds::column<"x", floats>>;
}  // namespace

std::size_t use(mds::bytes_view sample) { return rows::get<"x">(sample).size(); }
