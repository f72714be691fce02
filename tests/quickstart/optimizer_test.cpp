#include "quickstart/optimizer.hpp"

#include "quickstart/model.hpp"
#include "support/catch.hpp"

#include <string_view>
#include <vector>

TEST_CASE("the first step of Adam goes one rate against the sign of the gradient", "[quickstart]") {
  quickstart::adam optimizer(2, {.rate = 0.5, .warm_up = 1, .steps = 10});
  std::vector<float> parameters = {1.0F, 1.0F};
  const std::vector<float> gradient = {3.0F, -0.01F};
  optimizer.update(0, 0, gradient, parameters);
  CHECK(parameters[0] == Approx(0.5).epsilon(1e-4));
  CHECK(parameters[1] == Approx(1.5).epsilon(1e-4));
}

TEST_CASE("the rate warms up and falls to a tenth", "[quickstart]") {
  const quickstart::adam optimizer(1, {.rate = 1.0, .warm_up = 10, .steps = 100});
  CHECK(optimizer.rate(0) == Approx(0.1));
  CHECK(optimizer.rate(9) > 0.9);
  CHECK(optimizer.rate(50) == Approx(0.55).epsilon(0.01));
  CHECK(optimizer.rate(100) == Approx(0.1));
}

TEST_CASE("training on a text that repeats learns it", "[quickstart]") {
  const quickstart::model_shape shape{.context = 4, .hidden = 32};
  auto parameters = quickstart::initial_parameters(shape, 1);
  const std::string_view text = "the quick brown fox jumps over the lazy dog. ";
  std::vector<std::uint8_t> row;
  for (int i = 0; i < 3; ++i) row.insert(row.end(), text.begin(), text.end());
  quickstart::byte_model<> model(shape);
  quickstart::adam optimizer(parameters.size(), {.rate = 1e-2, .warm_up = 5, .steps = 80});
  std::vector<float> gradient(parameters.size());
  const double before = model.loss(parameters, row) / static_cast<double>(row.size());
  for (std::uint64_t step = 0; step < 80; ++step) {
    gradient.assign(gradient.size(), 0.0F);
    model.learn(parameters, row, gradient);
    for (float& g : gradient) g /= static_cast<float>(row.size());
    optimizer.update(step, 0, gradient, parameters);
  }
  CHECK(before > 5.0);
  CHECK(model.loss(parameters, row) / static_cast<double>(row.size()) < 0.2);
}
