#include "quickstart/model.hpp"

#include "quickstart/matrix.hpp"
#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace model_test {

constexpr quickstart::model_shape small{.context = 3, .hidden = 32};

inline std::vector<std::uint8_t> random_row(std::size_t bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> row(bytes);
  for (auto& byte : row) byte = static_cast<std::uint8_t>('a' + random() % 5);
  return row;
}

}  // namespace model_test

TEST_CASE("a product of matrices adds what three loops add", "[quickstart]") {
  constexpr std::size_t rows = 8, inner = 5, columns = 32;
  std::vector<float> a(rows * inner), b(inner * columns), c(rows * columns, 1.0F);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3.0F;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 11) - 5.0F;
  quickstart::multiply_add(a.data(), b.data(), c.data(), rows, inner, columns);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t j = 0; j < columns; ++j) {
      float sum = 1.0F;
      for (std::size_t k = 0; k < inner; ++k) sum += a[r * inner + k] * b[k * columns + j];
      REQUIRE(c[r * columns + j] == sum);  // small integers: exact in any order
    }
  }
}

TEST_CASE("the gradient is the slope of the loss", "[quickstart]") {
  const auto shape = model_test::small;
  auto parameters = quickstart::initial_parameters<double>(shape, 11);
  // With biases of zero the first byte would sit on the kink of both rectifiers.
  std::mt19937 random(3);
  for (double& value : parameters)
    value += 1e-2 * (static_cast<double>(random() % 1000) - 499.5) / 500;
  const auto row = model_test::random_row(21, 5);
  quickstart::byte_model<double> model(shape);

  std::vector<double> gradient(parameters.size(), 0.0);
  const double loss = model.learn(parameters, row, gradient);
  CHECK(loss == Approx(model.loss(parameters, row)));

  // The steepest point of every part of the model, and some at random.
  const std::size_t parts[] = {shape.table(),      shape.bias(),   shape.inner(),
                               shape.inner_bias(), shape.output(), shape.output_bias(),
                               shape.parameters()};
  int checked = 0;
  for (std::size_t part = 0; part + 1 < std::size(parts); ++part) {
    const auto first = gradient.begin() + static_cast<std::ptrdiff_t>(parts[part]);
    const auto last = gradient.begin() + static_cast<std::ptrdiff_t>(parts[part + 1]);
    const auto steepest =
        std::max_element(first, last, [](double x, double y) { return std::abs(x) < std::abs(y); });
    REQUIRE(std::abs(*steepest) > 1e-3);
    for (int draw = 0; draw < 20; ++draw) {
      const std::size_t i = draw == 0 ? static_cast<std::size_t>(steepest - gradient.begin())
                                      : parts[part] + random() % (parts[part + 1] - parts[part]);
      const double was = parameters[i], step = 1e-6;
      parameters[i] = was + step;
      const double above = model.loss(parameters, row);
      parameters[i] = was - step;
      const double below = model.loss(parameters, row);
      parameters[i] = was;
      const double slope = (above - below) / (2.0 * step);
      INFO("part " << part << ", parameter " << i);
      CHECK(gradient[i] == Approx(slope).margin(1e-6).epsilon(1e-5));
      ++checked;
    }
  }
  CHECK(checked == 120);
}

TEST_CASE("the loss of a model that knows nothing is that of a fair choice of 256",
          "[quickstart]") {
  const auto shape = model_test::small;
  const std::vector<float> zeros(shape.parameters(), 0.0F);
  const auto row = model_test::random_row(40, 8);
  quickstart::byte_model<> model(shape);
  CHECK(model.loss(zeros, row) / 40.0 == Approx(std::log(256.0)).epsilon(1e-5));
}

TEST_CASE("a byte that comes later changes no earlier loss", "[quickstart]") {
  const auto shape = model_test::small;
  const auto parameters = quickstart::initial_parameters(shape, 2);
  auto row = model_test::random_row(17, 4);
  quickstart::byte_model<> model(shape);
  const double sixteen = model.loss(parameters, std::span(row).first(16));
  const double all = model.loss(parameters, row);
  row.back() = static_cast<std::uint8_t>(row.back() ^ 1U);
  const double other = model.loss(parameters, row);
  CHECK(all != other);
  CHECK(all > sixteen);
  CHECK(other > sixteen);
}

TEST_CASE(
    "rows are independent: gradients of groups add up to the same bits in any grouping of rows",
    "[quickstart]") {
  const auto shape = model_test::small;
  const auto parameters = quickstart::initial_parameters(shape, 21);
  std::vector<float> one(parameters.size(), 0.0F), two(parameters.size(), 0.0F);
  quickstart::byte_model<> first(shape), second(shape);
  const auto a = model_test::random_row(33, 1), b = model_test::random_row(50, 2);
  first.learn(parameters, a, one);
  first.learn(parameters, b, one);
  second.learn(parameters, a, two);
  quickstart::byte_model<> third(
      shape);  // another thread's object goes on where the second stopped
  third.learn(parameters, b, two);
  CHECK(one == two);
}
