// says: collate::collator
// says: column_collator
#include <mdstream/collate/dense.hpp>

namespace {
struct my_collator {
  static constexpr std::string_view name = "mine";
  static constexpr bool accepts(const mdstream::collate::source_column&) { return true; }
#ifdef CORRECTED
  std::uint64_t lay_out(std::span<const mdstream::collate::source_column>,
                        std::span<const mdstream::collate::detail::column_measure>, std::uint64_t,
                        std::vector<mdstream::collate::output_column>&) const {
    return 0;
  }
#endif
};
static_assert(mdstream::collate::collator<my_collator>);
}  // namespace
