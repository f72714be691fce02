// says: mdstream: the column has another encoding
#include <mdstream/mdstream.hpp>

#include <array>
#include <cstdint>

namespace {
namespace mds = mdstream;

struct point {
  static constexpr std::string_view name = "point";
  static constexpr std::uint64_t size = 8;
  using view = std::array<float, 2>;
  static view decode(mds::bytes_view value) { return mds::load<view>(value.data()); }
};

struct pixel {  // as large
#ifdef CORRECTED
  static constexpr std::string_view name = "point";
#else
  static constexpr std::string_view name = "pixel";
#endif
  static constexpr std::uint64_t size = 8;
  using view = std::array<std::int16_t, 4>;
  static view decode(mds::bytes_view value) { return mds::load<view>(value.data()); }
};

using policies = mds::policies<mds::schema<mds::column<"at", point>>>;
}  // namespace

std::int16_t use(const mds::dataset<policies>& data) { return data[0].get<"at", pixel>()[0]; }
