// The training step of examples/cuda, on a processor, against the quickstart's model.
#include "byte_trainer.cuh"

#include "support/catch.hpp"

#include <algorithm>
#include <vector>

TEST_CASE("a step on a device learns what the quickstart's model learns", "[cuda]") {
  using namespace cuda_quickstart;
  const model_shape shape{.context = 3, .hidden = 32};
  constexpr std::size_t rows = 2, row_bytes = 20, bytes = rows * row_bytes;
  std::vector<std::uint8_t> text(bytes);
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<std::uint8_t>(i * i % 11 + 90);

  std::vector<float> parameters = quickstart::initial_parameters(shape, 4);
  std::vector<float> expected(shape.parameters());
  quickstart::byte_model<> model(shape);
  double expected_loss = 0;
  for (std::size_t row = 0; row < rows; ++row)
    expected_loss +=
        model.learn(parameters, std::span(text).subspan(row * row_bytes, row_bytes), expected);

  std::vector<float> gradient(shape.parameters(), 7.0F), losses(bytes);
  std::vector<float> first(bytes * shape.hidden), second = first, d_first = first, d_second = first;
  std::vector<float> logits(bytes * quickstart::alphabet);
  const workspace work{.shape = shape,
                       .rows = rows,
                       .row_bytes = row_bytes,
                       .text = text.data(),
                       .parameters = parameters.data(),
                       .gradient = gradient.data(),
                       .first = first.data(),
                       .second = second.data(),
                       .logits = logits.data(),
                       .d_first = d_first.data(),
                       .d_second = d_second.data(),
                       .losses = losses.data()};
  products by(nullptr);
  learn(work, by, nullptr);
  double loss = 0;
  for (const float one : losses) loss += static_cast<double>(one);
  CHECK(loss == Approx(expected_loss).epsilon(1e-5));
  for (std::size_t i = 0; i < gradient.size(); ++i)
    REQUIRE(gradient[i] == Approx(expected[i]).epsilon(1e-3).margin(1e-4));

  // And a step of Adam.
  const quickstart::adam_options options{.steps = 10};
  quickstart::adam reference(shape.parameters(), options);
  std::vector<float> by_reference = parameters, mean(parameters.size()), square = mean;
  std::vector<float> mean_gradient = gradient;
  for (float& slope : mean_gradient) slope *= static_cast<float>(1.0 / bytes);
  reference.update(0, 0, mean_gradient, by_reference);
  update(work, 0, reference, options, mean.data(), square.data(), nullptr);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    REQUIRE(parameters[i] == Approx(by_reference[i]).epsilon(1e-4).margin(1e-6));
}
