#include <mdstream/order/detail/numpy_random.hpp>

#include "order/golden.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

#include <string>
#include <vector>

namespace numpy_random_test {

using golden::json;
namespace numpy = mdstream::numpy;

std::vector<std::uint32_t> digits_of(const json& seed) {
  // Seeds go up to 200 bits: decimal text to base 2^32.
  std::string text = seed.is_string() ? seed.get<std::string>() : seed.dump();
  std::vector<std::uint32_t> digits;
  while (!text.empty() && text != "0") {
    std::string quotient;
    std::uint64_t rest = 0;
    for (const char c : text) {
      rest = rest * 10 + static_cast<std::uint64_t>(c - '0');
      const auto digit = static_cast<char>('0' + (rest >> 32));
      if (!quotient.empty() || digit != '0') quotient += digit;
      rest &= 0xffffffff;
    }
    digits.push_back(static_cast<std::uint32_t>(rest));
    text = quotient;
  }
  if (digits.empty()) digits.push_back(0);
  return digits;
}

std::string hex128(numpy::uint128 value) {
  std::string out;
  for (int shift = 124; shift >= 0; shift -= 4)
    out += "0123456789abcdef"[static_cast<unsigned>(value >> shift) & 15];
  return out;
}

std::vector<std::int64_t> signed_values(const std::vector<std::uint64_t>& v) {
  return {v.begin(), v.end()};
}

std::vector<std::int64_t> integers_of(const json& out) {
  std::vector<std::int64_t> values;
  for (const json& x : out) values.push_back(golden::integer(x));
  return values;
}

bool same_doubles(const std::vector<double>& got, const json& out) {
  if (got.size() != out.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!golden::same_double(got[i], out[i])) return false;
  return true;
}

bool same_as(const std::vector<std::int64_t>& got, const json& op) {
  return op.contains("hash") ? op["hash"] == golden::hash(std::span<const std::int64_t>(got))
                             : got == integers_of(op["out"]);
}
bool same_as(const std::vector<double>& got, const json& op) {
  return op.contains("hash") ? op["hash"] == golden::hash(std::span<const double>(got))
                             : same_doubles(got, op["out"]);
}

bool perform(numpy::generator& random, const json& op) {
  const auto name = op["op"].get<std::string>();
  const auto n = op.contains("n") ? golden::number(op["n"]) : 0;
  if (name == "integers")
    return random.integers(golden::integer(op["low"]), golden::integer(op["high"])) ==
           golden::integer(op["out"]);
  if (name == "integers_n") {
    std::vector<std::int64_t> got(n);
    for (auto& x : got)
      x = random.integers(golden::integer(op["low"]), golden::integer(op["high"]));
    return same_as(got, op);
  }
  if (name == "uniform") {
    std::vector<double> got(n);
    random.uniform(golden::real(op["low"]), golden::real(op["high"]), got);
    return same_as(got, op);
  }
  if (name == "random") {
    std::vector<double> got(n);
    for (double& x : got) x = random.next_double();
    return same_as(got, op);
  }
  if (name == "shuffle") {
    std::vector<std::int64_t> got(n);
    std::iota(got.begin(), got.end(), 0);
    random.shuffle(got);
    return same_as(got, op);
  }
  if (name == "shuffle_begins") {
    const std::uint64_t last = golden::number(op["pop"]) - 1;
    std::vector<std::int64_t> got(n);
    for (std::uint64_t i = 0; i < n; ++i)
      got[i] = static_cast<std::int64_t>(random.interval(last - i));
    return same_as(got, op);
  }
  if (name == "permutation") return same_as(random.permutation(n), op);
  if (name == "choice")
    return same_as(signed_values(random.choice(golden::number(op["pop"]), n)), op);
  FAIL("unknown operation " << name);
  return false;
}

TEST_CASE("default_rng is seeded and draws as NumPy's", "[order][golden]") {
  const json file = golden::load("rng");
  for (const json& c : file["raw"]) {
    INFO(c["seed"]);
    const auto digits = digits_of(c["seed"]);
    const auto pool = numpy::seed_pool(digits);
    for (std::size_t i = 0; i < 4; ++i) CHECK(pool[i] == golden::hex(c["pool"][i]));
    numpy::generator random{std::span<const std::uint32_t>(digits)};
    CHECK(hex128(random.bits().state()) == c["state"].get<std::string>());
    CHECK(hex128(random.bits().increment()) == c["inc"].get<std::string>());
    numpy::generator doubles = random;
    for (const json& x : c["next64"]) CHECK(random.next64() == golden::hex(x));
    for (const json& x : c["random"]) CHECK(golden::same_double(doubles.next_double(), x));
    if (digits.size() > 2) continue;
    const std::uint64_t seed =
        digits[0] | (digits.size() > 1 ? static_cast<std::uint64_t>(digits[1]) << 32 : 0);
    CHECK(numpy::generator(seed).save() ==
          numpy::generator{std::span<const std::uint32_t>(digits)}.save());
  }
}

TEST_CASE("operations on one generator follow each other as in NumPy", "[order][golden]") {
  const json file = golden::load("rng");
  for (const json& c : file["sequences"]) {
    numpy::generator random(golden::number(c["seed"]));
    for (const json& op : c["ops"]) {
      INFO(c["seed"] << " " << op);
      REQUIRE(perform(random, op));
    }
    const numpy::snapshot end = random.save();
    CHECK(hex128(end.state) == c["end"]["state"].get<std::string>());
    CHECK(end.has_half == (c["end"]["has_uint32"].get<int>() != 0));
    CHECK(end.half == golden::number(c["end"]["uinteger"]));
  }
  for (const json& c : file["large"]) {
    INFO(c);
    numpy::generator random(golden::number(c["seed"]));
    REQUIRE(perform(random, c));
  }
}

TEST_CASE("jumping ahead equals drawing", "[order]") {
  for (const std::uint64_t n : {0ULL, 1ULL, 2ULL, 63ULL, 1000ULL, 123457ULL}) {
    numpy::generator drawn(9176), jumped(9176);
    static_cast<void>(drawn.next32());
    static_cast<void>(jumped.next32());
    for (std::uint64_t i = 0; i < n; ++i) static_cast<void>(drawn.next64());
    jumped.advance(n);
    CHECK(drawn.save() == jumped.save());
    jumped.advance(-static_cast<numpy::uint128>(n));
    numpy::generator start(9176);
    static_cast<void>(start.next32());
    CHECK(jumped.save() == start.save());
  }
}

TEST_CASE("a saved generator goes on where it was", "[order]") {
  numpy::generator random(7);
  static_cast<void>(random.next32());
  const numpy::snapshot saved = random.save();
  const auto once = random.permutation(20);
  random.restore(saved);
  CHECK(random.permutation(20) == once);
}

TEST_CASE("empty ranges are refused", "[order]") {
  using mdstream::errc;
  using support::expect_error;
  numpy::generator random(1);
  std::vector<double> out(1);
  expect_error([&] { static_cast<void>(random.integers(3, 3)); }, errc::invalid_argument, {"3"});
  expect_error([&] { static_cast<void>(random.choice(4, 5)); }, errc::invalid_argument, {"5 of 4"});
  expect_error([&] { random.uniform(1.0, 0.0, out); }, errc::invalid_argument, {"uniform"});
}

}  // namespace numpy_random_test
