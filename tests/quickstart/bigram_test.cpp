#include "quickstart/bigram.hpp"

#include "support/catch.hpp"

#include <cmath>
#include <vector>

TEST_CASE("a bigram table knows what always follows", "[quickstart]") {
  std::vector<std::uint8_t> rows(quickstart::row_bytes * 4);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i % 2 == 0 ? 'a' : 'b';
  quickstart::bigram_table table;
  table.add(rows, 1.0);
  CHECK(table.loss(rows) < 0.01);

  std::vector<std::uint8_t> other(rows.size(),
                                  'q');  // never seen: one of 256, but for each row's first
  CHECK(table.loss(other) > std::log(255.0));
}

TEST_CASE("a corpus weighs in a bigram table as its share says, not by its size", "[quickstart]") {
  std::vector<std::uint8_t> a(quickstart::row_bytes * 100, 'a'), b(quickstart::row_bytes, 'b');
  for (std::size_t i = 0; i < a.size(); i += 2) a[i] = 'x';
  for (std::size_t i = 0; i < b.size(); i += 2) b[i] = 'x';
  quickstart::bigram_table table;
  table.add(a, 0.5);
  table.add(b, 0.5);
  // After x come a and b equally often, after them x always: ln 2 every second byte.
  CHECK(table.loss(b) == Approx(std::log(2.0) / 2.0).margin(0.01));
}
