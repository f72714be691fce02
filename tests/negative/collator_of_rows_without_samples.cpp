// says: mdstream: a collator of rows takes the numbers of the samples, too
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;
using rows = mds::schema<mds::column<"x", mds::ndarray<std::uint16_t>>>;

struct my_collator {
  static constexpr std::string_view name = "mine";
  static constexpr bool accepts(const mds::collate::source_column&) { return true; }
  mds::collate::detail::pack_result pack(std::span<const mds::collate::source_column>,
                                         std::span<const mds::collate::detail::column_measure>,
                                         std::span<const std::uint64_t>,
                                         std::vector<mds::collate::output_column>&,
                                         std::vector<mds::collate::pack_segment>&
#ifdef CORRECTED
                                         ,
                                         std::span<const std::uint64_t> = {}
#endif
  ) const {
    return {};
  }
};

struct my_filter {
  using output = rows;
  void operator()(const mds::sample_view<rows>& in, mds::results_writer<output>& out,
                  mds::sample_generator&) const {
    if (in.get<"x">().size() > 9) out.write(in);
  }
};
using policies = mds::policies<rows, my_collator, my_filter>;
}  // namespace

void use(const std::string& where) {
  mds::loader<policies> loader({.local = where, .batch_size = 4});
}
