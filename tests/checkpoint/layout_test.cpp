#include <mdstream/checkpoint/detail/file_plan.hpp>
#include <mdstream/checkpoint/detail/layout_text.hpp>
#include <mdstream/checkpoint/detail/read_plan.hpp>
#include <mdstream/checkpoint/detail/run_keys.hpp>
#include <mdstream/checkpoint/detail/sealed_json.hpp>
#include <mdstream/checkpoint/detail/tiling.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace {

namespace mds = mdstream;
using mds::tensor_type;
using mds::detail::data_layout;
using mds::detail::stored_tensor;

using numbers = std::mt19937_64;

std::uint64_t below(numbers& random, std::uint64_t end) { return random() % end; }

/// A random tiling of a box by cuts from edge to edge, in whole `grain`s of the last dimension.
void cut_randomly(numbers& random, const mds::box& from, std::uint64_t grain, unsigned cuts,
                  std::vector<mds::box>& out) {
  const std::size_t rank = from.extent.size();
  if (cuts == 0 || rank == 0) return out.push_back(from);
  const std::size_t d = below(random, rank);
  const std::uint64_t step = d + 1 == rank ? grain : 1;
  if (from.extent[d] < 2 * step) return out.push_back(from);
  mds::box first = from, second = from;
  first.extent[d] = (1 + below(random, from.extent[d] / step - 1)) * step;
  second.offset[d] += first.extent[d];
  second.extent[d] -= first.extent[d];
  cut_randomly(random, first, grain, cuts - 1, out);
  cut_randomly(random, second, grain, cuts - 1, out);
}

struct whole_tensor {
  std::string name;
  tensor_type type;
  mds::tensor_shape shape;
  std::vector<std::byte> bytes;

  [[nodiscard]] std::uint64_t grain() const {
    return mds::bits_of(type) == 4 ? 2 : mds::bits_of(type) == 6 ? 4 : 1;
  }
};

whole_tensor random_tensor(numbers& random, std::size_t number) {
  whole_tensor out{.name = "t" + std::to_string(number), .type = {}, .shape = {}, .bytes = {}};
  out.type = static_cast<tensor_type>(below(random, 22));
  const std::size_t rank = below(random, 5);
  for (std::size_t d = 0; d < rank; ++d) out.shape.push_back(below(random, 12));
  if (out.grain() > 1) {
    if (rank == 0) out.shape.push_back(0);
    out.shape.back() = 4 * (out.shape.back() / 3);
  }
  out.bytes.resize(static_cast<std::size_t>(*mds::detail::tensor_bytes(out.type, out.shape)));
  for (std::byte& each : out.bytes) each = static_cast<std::byte>(random());
  return out;
}

/// The bytes of a box of the tensor, copied element by element (bit by bit for narrow types).
std::vector<std::byte> plain_copy(const whole_tensor& of, const mds::box& part) {
  const std::uint64_t bits = mds::bits_of(of.type);
  const std::uint64_t count = *mds::detail::element_count(part.extent);
  std::vector<std::byte> out(static_cast<std::size_t>(count * bits / 8));
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t rest = i, at = 0, stride = 1;
    for (std::size_t d = of.shape.size(); d-- > 0;) {
      at += (part.offset[d] + rest % part.extent[d]) * stride;
      rest /= part.extent[d];
      stride *= of.shape[d];
    }
    for (std::uint64_t b = 0; b < bits; ++b) {
      const std::uint64_t from = at * bits + b, to = i * bits + b;
      const auto bit = static_cast<std::size_t>(of.bytes[from / 8] >> (from % 8)) & 1;
      out[to / 8] |= static_cast<std::byte>(bit << (to % 8));
    }
  }
  return out;
}

/// Saves as the ranks of `lists` would; the bytes of each file of the merged layout.
std::vector<std::vector<std::byte>> save(const std::vector<mds::tensor_list>& lists,
                                         std::uint64_t file_bytes, data_layout& layout) {
  std::vector<data_layout> records;
  std::vector<std::vector<std::byte>> files;
  for (std::size_t r = 0; r < lists.size(); ++r) {
    const auto plan = mds::detail::plan_files(lists[r], r, file_bytes);
    for (const auto& file : plan) {
      auto& bytes = files.emplace_back(file.bytes);
      std::memcpy(bytes.data(), file.head.data(), file.head.size());
      std::uint64_t end = file.head.size();
      for (const auto& piece : file.pieces) {
        const auto& from = lists[r].listed()[piece.listed];
        CHECK(piece.at == end);
        end += piece.bytes;
        if (from.held == piece.part && piece.bytes > 0)
          std::memcpy(bytes.data() + piece.at, from.data, static_cast<std::size_t>(piece.bytes));
      }
      CHECK(end == file.bytes);
      const auto head =
          mds::detail::read_safetensors(mds::bytes_view(bytes).first(file.head.size()), file.bytes);
      CHECK(head.tensors.size() == file.pieces.size());
    }
    records.push_back(mds::detail::layout_of(lists[r], plan));
  }
  layout = mds::detail::merge_layouts(records);
  return files;
}

}  // namespace

TEST_CASE("what N ranks saved by any cut, M ranks load by any other", "[checkpoint]") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  numbers random(static_cast<std::uint64_t>(seed));
  for (const std::size_t n : {1, 2, 3, 4, 6, 8}) {
    for (const std::size_t m : {1, 2, 3, 4, 6, 8}) {
      std::vector<whole_tensor> tensors;
      for (std::size_t i = below(random, 6); i-- > 0;) tensors.push_back(random_tensor(random, i));
      std::vector<mds::tensor_list> lists(n);
      std::vector<std::vector<std::byte>> memory;
      for (const whole_tensor& each : tensors) {
        std::vector<mds::box> parts;
        cut_randomly(random, mds::box::whole(each.shape), each.grain(),
                     static_cast<unsigned>(below(random, 5)), parts);
        for (const mds::box& part : parts) {
          memory.push_back(plain_copy(each, part));
          std::byte none{};
          lists[below(random, n)].add(each.name, each.type, each.shape, part,
                                      memory.back().empty() ? &none : memory.back().data());
        }
      }
      data_layout layout;
      const auto files = save(lists, 1 + below(random, 3000), layout);
      CHECK(mds::detail::read_layout(mds::detail::write_layout(layout)) == layout);

      for (std::size_t rank = 0; rank < m; ++rank) {
        mds::detail::read_planner planner(layout, below(random, 2) * below(random, 200));
        std::vector<std::vector<std::byte>> wanted, got;
        for (const whole_tensor& each : tensors) {
          std::vector<mds::box> parts;
          cut_randomly(random, mds::box::whole(each.shape), each.grain(), 3, parts);
          const mds::box& part = parts[below(random, parts.size())];
          wanted.push_back(plain_copy(each, part));
          got.emplace_back(wanted.back().size());
          planner.want(each.name, part, static_cast<std::uint32_t>(got.size() - 1));
        }
        const auto plan = std::move(planner).plan();
        std::uint64_t fetched = 0;
        for (const auto& range : plan.ranges) {
          fetched += range.end - range.begin;
          // In blocks of any size, as a reader has them.
          for (std::uint64_t at = range.begin; at < range.end;) {
            const std::uint64_t size = std::min(range.end - at, 1 + below(random, 100));
            const auto window =
                mds::bytes_view(files[range.file])
                    .subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
            for (const std::uint32_t copy : range.copies)
              mds::detail::copy_window(plan.copies[copy], {at, window},
                                       got[plan.copies[copy].target].data());
            at += size;
          }
        }
        CHECK(fetched == plan.fetched);
        CHECK(plan.wanted == std::accumulate(wanted.begin(), wanted.end(), std::uint64_t{0},
                                             [](std::uint64_t sum, const auto& each) {
                                               return sum + each.size();
                                             }));
        REQUIRE(got == wanted);
      }
    }
  }
}

TEST_CASE("random boxes tile a tensor exactly if they cover each element once", "[checkpoint]") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  numbers random(static_cast<std::uint64_t>(seed));
  unsigned good = 0, bad = 0;
  for (int round = 0; round < 2000; ++round) {
    stored_tensor tensor{.name = "t", .type = tensor_type::u8, .shape = {}};
    for (std::size_t d = below(random, 4); d-- > 0;) tensor.shape.push_back(1 + below(random, 5));
    std::vector<mds::box> parts;
    cut_randomly(random, mds::box::whole(tensor.shape), 1, 3, parts);
    if (!tensor.shape.empty() && below(random, 2) == 0) {  // move or resize some
      for (std::uint64_t i = below(random, 3); i-- > 0;) {
        mds::box& part = parts[below(random, parts.size())];
        const std::size_t d = below(random, tensor.shape.size());
        part.offset[d] = below(random, tensor.shape[d]);
        part.extent[d] = below(random, tensor.shape[d] - part.offset[d] + 1);
      }
      if (below(random, 4) == 0) parts.push_back(parts[below(random, parts.size())]);
    }
    std::vector<int> covered(static_cast<std::size_t>(*mds::detail::element_count(tensor.shape)));
    for (const mds::box& part : parts) {
      tensor.add(0, 0, part);
      for (std::size_t i = 0; i < covered.size(); ++i) {
        std::uint64_t rest = i;
        bool inside = true;
        for (std::size_t d = tensor.shape.size(); d-- > 0; rest /= tensor.shape[d]) {
          const std::uint64_t at = rest % tensor.shape[d];
          inside = inside && at >= part.offset[d] && at - part.offset[d] < part.extent[d];
        }
        covered[i] += inside ? 1 : 0;
      }
    }
    const auto wrong = std::find_if(covered.begin(), covered.end(), [](int n) { return n != 1; });
    const auto failure = support::error_of(
        [&] { mds::detail::require_tiling(tensor, mds::errc::invalid_argument); });
    CHECK(failure.has_value() == (wrong != covered.end()));
    if (wrong == covered.end()) {
      ++good;
    } else if (failure) {
      ++bad;
      mds::tensor_shape at(tensor.shape.size());
      auto rest = static_cast<std::uint64_t>(wrong - covered.begin());
      for (std::size_t d = tensor.shape.size(); d-- > 0; rest /= tensor.shape[d])
        at[d] = rest % tensor.shape[d];
      INFO(failure->what());
      CHECK(std::string(failure->what())
                .find(mds::detail::to_string(mds::detail::extents(at)) +
                      (*wrong == 0 ? " is missing" : " is there twice")) != std::string::npos);
    }
  }
  CHECK(good > 100);
  CHECK(bad > 100);
}

TEST_CASE("ranks that do not agree on a tensor are refused, naming it", "[checkpoint]") {
  float x[4]{};
  const auto merged = [](const mds::tensor_list& a, const mds::tensor_list& b) {
    data_layout layout;
    (void)save({a, b}, 1 << 20, layout);
  };
  mds::tensor_list first, second;
  first.add("w", tensor_type::f32, {4}, {{0}, {2}}, x);
  second.add("w", tensor_type::f32, {5}, {{2}, {3}}, x);
  support::expect_error([&] { merged(first, second); }, mds::errc::invalid_argument,
                        {"\"w\"", "F32 [4]", "F32 [5]", "rank 1"});
  mds::tensor_list overlaps, short_of;
  overlaps.add("w", tensor_type::f32, {4}, {{1}, {3}}, x);
  short_of.add("w", tensor_type::f32, {4}, {{3}, {1}}, x);
  support::expect_error([&] { merged(first, overlaps); }, mds::errc::invalid_argument,
                        {"\"w\"", "[1] is there twice"});
  support::expect_error([&] { merged(first, short_of); }, mds::errc::invalid_argument,
                        {"\"w\"", "[2] is missing"});
  mds::tensor_list twice;
  twice.add("w", tensor_type::f32, {4}, {{0}, {2}}, x).add("w", tensor_type::f32, {3}, x);
  support::expect_error([&] { merged(twice, {}); }, mds::errc::invalid_argument, {"two types"});
}

TEST_CASE("files are of about the wanted size, and name a tensor once", "[checkpoint]") {
  std::vector<float> x(1000);
  mds::tensor_list list;
  for (int i = 0; i < 10; ++i) list.add("t" + std::to_string(i), tensor_type::f32, {100}, x.data());
  list.add("cut", tensor_type::f32, {4}, {{0}, {2}}, x.data());
  list.add("cut", tensor_type::f32, {4}, {{2}, {2}}, x.data());
  const auto files = mds::detail::plan_files(list, 7, 1200);
  REQUIRE(files.size() == 5);
  CHECK(files[0].name == "r7-0.safetensors");
  CHECK(files[0].pieces.size() == 3);
  CHECK(files[4].pieces.size() == 1);
  for (const auto& file : files)
    for (const char* part : {"\"DCP_SHARDING_INFO\"", "saved_offsets", "\"format\":\"pt\""})
      CHECK(file.head.find(part) != std::string::npos);
  CHECK(mds::detail::plan_files(list, 0, 1).size() == 12);
  CHECK(mds::detail::plan_files({}, 0, 1).empty());
}

TEST_CASE("heads of plain files make a layout, cut ones too", "[checkpoint]") {
  float x[6]{};
  mds::tensor_list first, second;
  first.add("w", tensor_type::f32, {3, 2}, {{0, 0}, {1, 2}}, x).add("b", tensor_type::f32, {}, x);
  second.add("w", tensor_type::f32, {3, 2}, {{1, 0}, {2, 2}}, x);
  std::vector<std::pair<std::string, mds::detail::safetensors_head>> heads;
  std::vector<data_layout> records;
  for (std::size_t r = 0; r < 2; ++r) {
    const auto& list = r == 0 ? first : second;
    const auto plan = mds::detail::plan_files(list, r, 1 << 20);
    records.push_back(mds::detail::layout_of(list, plan));
    for (const auto& file : plan)
      heads.emplace_back(file.name,
                         mds::detail::read_safetensors(mds::as_bytes(file.head), file.bytes));
  }
  CHECK(mds::detail::layout_of_files(heads) == mds::detail::merge_layouts(records));
  heads.pop_back();
  // Nobody says how large the tensor is: what is left is all of it.
  CHECK(mds::detail::layout_of_files(heads).find("w")->shape == mds::tensor_shape{1, 2});
  heads.push_back(heads[0]);
  support::expect_error([&] { (void)mds::detail::layout_of_files(heads); }, mds::errc::corrupt,
                        {"is there twice"});
}

TEST_CASE("rows are fetched alone, halves of rows with their gaps", "[checkpoint]") {
  constexpr std::uint64_t rows = 3072, columns = 3072;
  const auto layout_by_rows = [&](std::uint64_t ranks) {
    data_layout out;
    stored_tensor w{.name = "w", .type = tensor_type::f32, .shape = {rows, columns}};
    for (std::uint64_t r = 0; r < ranks; ++r) {
      const std::uint64_t bytes = rows / ranks * columns * 4;
      out.files.push_back({.name = mds::detail::data_file_name(r, 0), .bytes = 1000 + bytes});
      w.add(static_cast<std::uint32_t>(r), 1000,
            mds::box{{r * (rows / ranks), 0}, {rows / ranks, columns}});
    }
    out.tensors.push_back(std::move(w));
    return out;
  };
  const data_layout four = layout_by_rows(4);
  for (std::uint64_t r = 0; r < 6; ++r) {
    mds::detail::read_planner planner(four);
    planner.want("w", mds::box{{r * 512, 0}, {512, columns}}, 0);
    const auto plan = std::move(planner).plan();
    CHECK(plan.fetched == plan.wanted);
    CHECK(plan.ranges.size() <= 2);
  }
  mds::detail::read_planner planner(four);
  planner.want("w", mds::box{{0, 0}, {rows, columns / 2}}, 0);
  const auto plan = std::move(planner).plan();
  CHECK(plan.ranges.size() == 4);
  CHECK(static_cast<double>(plan.fetched) <= 2.05 * static_cast<double>(plan.wanted));
  CHECK(plan.copies.size() == 4);
}

TEST_CASE("boxes of tensors with more than 2^32 elements are planned to the byte", "[checkpoint]") {
  data_layout layout;
  layout.files.push_back({.name = "r0-0.safetensors", .bytes = 100'000'000'008});
  stored_tensor w{.name = "w", .type = tensor_type::bf16, .shape = {200'000, 250'000}};
  w.add(0, 8, mds::box::whole(w.shape));
  layout.tensors.push_back(w);
  CHECK(mds::detail::read_layout(mds::detail::write_layout(layout)) == layout);
  mds::detail::read_planner planner(layout);
  planner.want("w", mds::box{{199'999, 1}, {1, 249'999}}, 0);
  planner.want("w", mds::box{{0, 249'999}, {200'000, 1}}, 1);
  const auto plan = std::move(planner).plan();
  CHECK(plan.ranges.size() == 199'999);
  CHECK(plan.ranges.back().end == 100'000'000'008);
  CHECK(plan.wanted == 2 * (249'999 + 200'000));
}

TEST_CASE("wishes that can not be met are refused", "[checkpoint]") {
  data_layout layout;
  layout.files.push_back({.name = "r0-0.safetensors", .bytes = 100});
  layout.tensors.push_back({.name = "w", .type = tensor_type::f4, .shape = {4, 4}});
  layout.tensors[0].add(0, 8, mds::box::whole({4, 4}));
  mds::detail::read_planner planner(layout);
  support::expect_error([&] { planner.want("v", mds::box::whole({}), 0); }, mds::errc::not_found,
                        {"\"v\""});
  support::expect_error([&] { planner.want("w", mds::box{{0, 1}, {4, 4}}, 0); },
                        mds::errc::invalid_argument, {"\"w\"", "[4, 4]", "[0, 1]"});
  support::expect_error([&] { planner.want("w", mds::box{{0, 1}, {4, 2}}, 0); },
                        mds::errc::invalid_argument, {"whole bytes"});
}

TEST_CASE("every byte of a layout counts", "[checkpoint]") {
  data_layout layout;
  layout.files.push_back({.name = "r0-0.safetensors", .bytes = 100, .crcs = {0x12345678}});
  layout.tensors.push_back({.name = "w", .type = tensor_type::f32, .shape = {2, 3}});
  layout.tensors[0].add(0, 8, mds::box{{0, 0}, {1, 3}});
  layout.tensors[0].add(0, 40, mds::box{{1, 0}, {1, 3}});
  const std::string text = mds::detail::write_layout(layout);
  REQUIRE(mds::detail::read_layout(text) == layout);
  const auto damaged = [](const std::string& changed) {
    const auto failure = support::error_of([&] { (void)mds::detail::read_layout(changed); });
    return failure && failure->code() == mds::errc::corrupt;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    INFO("byte " << i);
    for (const int bit : {1, 2, 32, 128}) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ bit);
      // Digits of the checksum are the same in either case.
      CHECK(damaged(changed));
    }
    CHECK(damaged(text.substr(0, i)));
  }
  CHECK(damaged(text + ' '));
}

TEST_CASE("sealed layouts that can not be right are refused, naming the tensor", "[checkpoint]") {
  const auto refused = [](const std::string& files, const std::string& tensors,
                          std::string_view piece) {
    std::string text = mds::detail::begin_sealed("layout");
    text += ", \"files\": " + files + ", \"tensors\": " + tensors;
    mds::detail::seal(text);
    support::expect_error([&] { (void)mds::detail::read_layout(text, {.url = "memory"}); },
                          mds::errc::corrupt, {piece, "memory"});
  };
  const std::string file = R"([["a",100,["00000000"]]])";
  refused(R"([["../a",100,[]]])", "[]", "not a file's name");
  refused(R"([["a",100,["0000000g"]]])", "[]", "eight hexadecimal digits");
  refused(R"([["a",100,["00000000","00000000"]]])", "[]", "2 checksums for 1 blocks");
  refused(R"([["a"]])", "[]", "another item");
  refused(file, R"([["w","F32",[2],[[1,0,[0],[2]]]]])", "no file 1");
  refused(file, R"([["w","F32",[2],[[0,96,[0],[2]]]]])", "does not lie within");
  refused(file, R"([["w","F32",[2],[[0,0,[1],[2]]]]])", "lies outside");
  refused(file, R"([["w","F32",[2],[[0,0,[0,0],[]]]]])", "dimensions");
  refused(file, R"([["w","F32",[2],[[0,0,[0],[1]]]]])", "[1] is missing");
  refused(file, R"([["w","F33",[2],[]]])", "type is not known");
  refused(file, R"([["w","F32",[9223372036854775808],[]]])", "shape");
  refused(file, R"([["w","F32",[0],[]],["w","F32",[0],[]]])", "order of names");
  refused(file, R"([["","F32",[0],[]]])", "no text");
}
