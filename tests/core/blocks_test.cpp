#include <mdstream/core/detail/blocks.hpp>

#include <cstddef>
#include <vector>

#include "support/catch.hpp"

namespace blocks_test {

namespace mds = mdstream;

TEST_CASE("blocks are all of the bytes, in their order") {
  constexpr std::size_t block = 1 << 20;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, block, 2 * block + 1}) {
    const std::vector<std::byte> bytes(size);
    std::size_t at = 0, blocks = 0;
    mds::detail::for_blocks(bytes, [&](mds::bytes_view each) {
      CHECK(each.data() == bytes.data() + at);
      CHECK((each.size() == block || at + each.size() == size));
      at += each.size();
      ++blocks;
    });
    CHECK(at == size);
    CHECK(blocks == (size + block - 1) / block);
  }
}

}  // namespace blocks_test
