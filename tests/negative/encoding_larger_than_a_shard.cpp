// says: mdstream: values of this size do not fit in a shard
#include <mdstream/mdstream.hpp>

#include <cstdint>

namespace {
namespace mds = mdstream;

struct volume {
  static constexpr std::string_view name = "volume";
#ifdef CORRECTED
  static constexpr std::uint64_t size = 0xffff'ffff;
#else
  static constexpr std::uint64_t size = 0x1'0000'0000;
#endif
  using view = mds::bytes_view;
  static view decode(mds::bytes_view value) { return value; }
};

using rows = mds::schema<mds::column<"x", volume>>;
}  // namespace

std::size_t use(mds::bytes_view sample) { return rows::get<"x">(sample).size(); }
