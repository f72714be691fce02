#include <mdstream/checkpoint/tensor_list.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace {

namespace mds = mdstream;
using mds::tensor_type;

void refused_tensor(const std::string& name, tensor_type type, mds::tensor_shape shape,
                    mds::box part, std::initializer_list<std::string_view> pieces) {
  char memory = 0;
  mds::tensor_list list;
  support::expect_error([&] { list.add(name, type, std::move(shape), std::move(part), &memory); },
                        mds::errc::invalid_argument, pieces);
}

}  // namespace

TEST_CASE("a list refuses tensors that no file could hold", "[checkpoint]") {
  refused_tensor("", tensor_type::f32, {1}, {{0}, {1}}, {"named"});
  refused_tensor("__metadata__", tensor_type::f32, {1}, {{0}, {1}}, {"named"});
  refused_tensor("\xff", tensor_type::f32, {1}, {{0}, {1}}, {"UTF-8"});
  refused_tensor("w", tensor_type::f32, {4, 4}, {{3, 0}, {2, 4}},
                 {"\"w\"", "[4, 4]", "[3, 0]", "[2, 4]"});
  refused_tensor("w", tensor_type::f32, {4}, {{~std::uint64_t{0}}, {2}}, {"outside"});
  refused_tensor("w", tensor_type::f32, {4}, {{0, 0}, {4, 1}}, {"outside"});
  refused_tensor("w", tensor_type::f4, {4}, {{1}, {1}}, {"whole bytes"});
  refused_tensor("w", tensor_type::f32, mds::tensor_shape(65, 1),
                 mds::box::whole(mds::tensor_shape(65, 1)), {"\"w\"", "65 dimensions"});
  refused_tensor("w", tensor_type::f64, {std::uint64_t{1} << 62}, {{0}, {1}}, {"\"w\"", "F64"});
  mds::tensor_list list;
  support::expect_error([&] { list.add("w", tensor_type::f32, {4}, nullptr); },
                        mds::errc::invalid_argument, {"no memory"});
  list.add("none", tensor_type::f32, {0}, nullptr);
  float scalar = 1;
  list.add("scalar", tensor_type::f32, {}, &scalar);
  CHECK(list.size() == 2);
  CHECK(list.saved_bytes() == 4);
  support::expect_error([&] { list.replicated("w", tensor_type::f32, {}, &scalar, {2, 2}); },
                        mds::errc::invalid_argument, {"replica 2 of 2"});
}

TEST_CASE("the shares of replicas are the whole tensor, each element once", "[checkpoint]") {
  const std::vector<std::pair<tensor_type, mds::tensor_shape>> tensors{
      {tensor_type::f32, {}},
      {tensor_type::f32, {7}},
      {tensor_type::f32, {0, 3}},
      {tensor_type::f32, {1, 1'000, 1'000}},
      {tensor_type::f32, {1'000'003}},
      {tensor_type::f4, {999'999, 4}},
      {tensor_type::f4, {4'000'000}},
      {tensor_type::bf16, {2, 3'000'000}},
      {tensor_type::bf16, {100'000, 100'000}}};
  for (const std::uint64_t of : {1u, 2u, 3u, 6u, 8u}) {
    for (const auto& [type, shape] : tensors) {
      INFO("of " << of << ": " << mds::detail::to_string(mds::detail::extents(shape)));
      std::uint64_t elements = 0, next = 0, holders = 0;
      std::uint64_t writers = 0;
      for (std::uint64_t i = 0; i < of; ++i) {
        const auto share = mds::detail::replica_share("name", type, shape, {i, of});
        if (!share) continue;
        ++holders;
        CHECK(mds::detail::lies_within(*share, shape));
        REQUIRE(mds::detail::tensor_bytes(type, share->extent));
        const std::uint64_t count = *mds::detail::element_count(share->extent);
        if (count == 0) continue;
        ++writers;
        std::uint64_t first = 0;
        for (std::size_t d = 0; d < shape.size(); ++d) first = first * shape[d] + share->offset[d];
        CHECK(first == next);  // each a run of elements behind the one before
        next = first + count;
        elements += count;
      }
      CHECK(holders >= 1);
      CHECK(elements == *mds::detail::element_count(shape));
      if (elements > 1'000'000 && shape[0] > 7)
        CHECK(writers == (type == tensor_type::f4 && shape.size() == 1 ? 1 : of));
    }
  }
}
