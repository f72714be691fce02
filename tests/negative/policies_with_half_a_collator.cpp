// says: mdstream: policies<...>: a collator has to model collate::collator
// says: column_collator
#include <mdstream/mdstream.hpp>

namespace {
namespace mds = mdstream;

struct my_collator {
  static constexpr std::string_view name = "mine";
  static constexpr bool accepts(const mds::collate::source_column&) { return true; }
#ifdef CORRECTED
  std::uint64_t lay_out(std::span<const mds::collate::source_column>,
                        std::span<const mds::collate::detail::column_measure>, std::uint64_t,
                        std::vector<mds::collate::output_column>&) const {
    return 0;
  }
#endif
};
using policies = mds::policies<my_collator>;
}  // namespace

void use(const std::string& where) {
  mds::loader<policies> loader({.local = where, .batch_size = 4});
}
