#include "quickstart/digest.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <set>
#include <vector>

namespace digest_test {

inline std::uint64_t digest_of(const std::vector<std::vector<std::uint8_t>>& rows) {
  quickstart::alone exchange;
  return quickstart::batch_digest(
      exchange, rows.size(), [&](std::size_t i) { return std::span<const std::uint8_t>(rows[i]); });
}

}  // namespace digest_test

TEST_CASE("a digest changes with every byte and with the order of rows", "[quickstart]") {
  std::vector<std::vector<std::uint8_t>> rows(12, std::vector<std::uint8_t>(8));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i][0] = static_cast<std::uint8_t>(i);
  std::set<std::uint64_t> seen = {digest_test::digest_of(rows)};
  for (auto& row : rows) {
    for (auto& byte : row) {
      ++byte;
      CHECK(seen.insert(digest_test::digest_of(rows)).second);
      --byte;
    }
  }
  std::swap(rows[0], rows[6]);
  CHECK(seen.insert(digest_test::digest_of(rows)).second);
  std::swap(rows[0], rows[6]);
  CHECK_FALSE(seen.insert(digest_test::digest_of(rows)).second);
}
