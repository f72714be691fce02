#include <mdstream/format/images.hpp>

#include <string>

#include "support/catch.hpp"

TEST_CASE("rows of Pillow's modes", "[images]") {
  using mdstream::pil_row_bytes;
  CHECK(pil_row_bytes("1", 9) == 2U);
  CHECK(pil_row_bytes("L", 9) == 9U);
  CHECK(pil_row_bytes("LA", 9) == 18U);
  CHECK(pil_row_bytes("RGB", 9) == 27U);
  CHECK(pil_row_bytes("F", 9) == 36U);
  CHECK(pil_row_bytes("RGBA", 0xFFFFFFFF) == 4ULL * 0xFFFFFFFF);
  CHECK_FALSE(pil_row_bytes("new mode", 9));
}

TEST_CASE("images without pixels, and of modes that are not known, pass", "[images]") {
  std::string bytes;
  mdstream::append_pil(bytes, {0, 0, "RGB", {}});
  CHECK(mdstream::parse_pil(mdstream::as_bytes(bytes)).width == 0);
  bytes.clear();
  mdstream::append_pil(bytes, {3, 1, "BGR;24", mdstream::as_bytes("any")});
  CHECK(mdstream::parse_pil(mdstream::as_bytes(bytes)).mode == "BGR;24");
}
