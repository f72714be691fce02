#include "quickstart/chart.hpp"

#include "support/catch.hpp"

#include <string>

namespace chart_test {

inline std::size_t occurrences(const std::string& text, const std::string& piece) {
  std::size_t count = 0;
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace chart_test

TEST_CASE("a chart draws its curves, marks and labels", "[quickstart]") {
  const std::string svg = quickstart::to_svg(
      {.title = "loss <1>",
       .x_label = "step",
       .y_label = "nats a byte",
       .curves = {{.name = "train", .colour = "#1f77b4", .points = {{0, 5.5}, {50, 3}, {100, 2}}},
                  {.name = "bigram",
                   .colour = "#888",
                   .points = {{0, 2.5}, {100, 2.5}},
                   .dashes = "6 4"}},
       .marks = {{.x = 40, .text = "SIGKILL"}}});
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(chart_test::occurrences(svg, "<polyline") == 2);
  for (const char* text :
       {"loss &lt;1&gt;", ">step<", ">nats a byte<", ">train<", ">bigram<", ">SIGKILL<"}) {
    INFO(text);
    CHECK(svg.find(text) != std::string::npos);
  }
  CHECK(chart_test::occurrences(svg, "<text") == chart_test::occurrences(svg, "</text>"));
}

TEST_CASE("higher values lie higher, inside the frame", "[quickstart]") {
  const std::string svg =
      quickstart::to_svg({.title = "",
                          .x_label = "",
                          .y_label = "",
                          .curves = {{.name = "c", .colour = "red", .points = {{0, 1}, {10, 3}}}}});
  CHECK(svg.find("points=\"70.0,420.00 830.0,50.00 \"") != std::string::npos);
}

TEST_CASE("a chart without a point is still a chart", "[quickstart]") {
  const std::string svg = quickstart::to_svg({.title = "empty", .x_label = "x", .y_label = "y"});
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}

TEST_CASE("ticks are round", "[quickstart]") {
  CHECK(quickstart::detail::tick(600, 8) == Approx(100));
  CHECK(quickstart::detail::tick(3.5, 7) == Approx(0.5));
  CHECK(quickstart::detail::tick(0.13, 7) == Approx(0.02));
}
