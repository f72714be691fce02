// says: mdstream: numbers and ndarrays have their own column types
#include <mdstream/mdstream.hpp>

#include <chrono>

namespace {
namespace mds = mdstream;

struct duration {
#ifdef CORRECTED
  static constexpr std::string_view name = "seconds";
  static constexpr std::uint64_t size = 8;
#else
  static constexpr std::string_view name = "int";
#endif
  using view = std::chrono::seconds;
  static view decode(mds::bytes_view value) { return view(mds::load<std::int64_t>(value.data())); }
};

using rows = mds::schema<mds::column<"length", duration>>;
}  // namespace

std::chrono::seconds use(mds::bytes_view sample) { return rows::get<"length">(sample); }
