#pragma once

/// A line chart as SVG text: curves over steps, level lines, marks, labelled axes, a legend.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace quickstart {

struct curve {
  std::string name, colour;
  std::vector<std::pair<double, double>> points;  // x, y
  double width = 1.5;
  std::string dashes{};  // an SVG stroke-dasharray, or empty: a full line
};

struct mark {
  double x;
  std::string text;
};

struct chart {
  std::string title, x_label, y_label;
  std::vector<curve> curves{};
  std::vector<mark> marks{};  // vertical lines
};

namespace detail {

inline std::string number(double value, int digits = 1) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

inline std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

/// A round step (1, 2 or 5 times a power of ten) that cuts `range` into about `parts`.
inline double tick(double range, double parts) {
  const double rough = std::max(range, 1e-9) / parts;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power) return factor * power;
  }
  return 10.0 * power;
}

class svg_writer {
 public:
  explicit svg_writer(const chart& what) : chart_(what) {
    for (const curve& c : chart_.curves) {
      for (const auto& [x, y] : c.points) {
        x_high_ = std::max(x_high_, x);
        y_low_ = std::min(y_low_, y);
        y_high_ = std::max(y_high_, y);
      }
    }
    if (y_low_ > y_high_) y_low_ = 0.0, y_high_ = 1.0;
    x_tick_ = tick(x_high_, 8);
    y_tick_ = tick(y_high_ - y_low_, 7);
    y_low_ = std::floor(y_low_ / y_tick_) * y_tick_;
    y_high_ = std::max(std::ceil(y_high_ / y_tick_) * y_tick_, y_low_ + y_tick_);
  }

  std::string text() {
    out_ =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"480\" viewBox=\"0 0 860 "
        "480\" "
        "font-family=\"sans-serif\" font-size=\"13\">\n"
        "<rect width=\"860\" height=\"480\" fill=\"white\"/>\n";
    label(left, 28, chart_.title, "start", "font-size=\"16\"");
    axes();
    for (const mark& m : chart_.marks) draw(m);
    for (const curve& c : chart_.curves) draw(c);
    legend();
    return out_ + "</svg>\n";
  }

 private:
  static constexpr double left = 70, right = 830, top = 50, bottom = 420;

  [[nodiscard]] double x_at(double x) const { return left + (right - left) * x / x_high_; }
  [[nodiscard]] double y_at(double y) const {
    return bottom - (bottom - top) * (y - y_low_) / (y_high_ - y_low_);
  }

  void line(double x1, double y1, double x2, double y2, const std::string& style) {
    out_ += "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) +
            "\" y2=\"" + number(y2) + "\" " + style + "/>\n";
  }

  void label(double x, double y, const std::string& text, const std::string& anchor,
             const std::string& more = "") {
    out_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor +
            "\" " + more + ">" + escaped(text) + "</text>\n";
  }

  void axes() {
    const int digits = y_tick_ >= 1.0 ? 0 : y_tick_ >= 0.1 ? 1 : 2;
    for (double y = y_low_; y <= y_high_ + 0.5 * y_tick_; y += y_tick_) {
      line(left, y_at(y), right, y_at(y), "stroke=\"#ddd\"");
      label(left - 8, y_at(y) + 4, number(y, digits), "end");
    }
    for (double x = 0; x <= x_high_ + 1e-9; x += x_tick_) {
      line(x_at(x), bottom, x_at(x), bottom + 5, "stroke=\"black\"");
      label(x_at(x), bottom + 20, number(x, x_tick_ >= 1.0 ? 0 : 2), "middle");
    }
    line(left, bottom, right, bottom, "stroke=\"black\"");
    line(left, top, left, bottom, "stroke=\"black\"");
    label((left + right) / 2, bottom + 44, chart_.x_label, "middle");
    label(-(top + bottom) / 2, 20, chart_.y_label, "middle", "transform=\"rotate(-90)\"");
  }

  void draw(const curve& c) {
    out_ += "<polyline fill=\"none\" stroke=\"" + c.colour + "\" stroke-width=\"" +
            number(c.width) + "\"";
    if (!c.dashes.empty()) out_ += " stroke-dasharray=\"" + c.dashes + "\"";
    out_ += " points=\"";
    for (const auto& [x, y] : c.points) out_ += number(x_at(x)) + "," + number(y_at(y), 2) + " ";
    out_ += "\"/>\n";
  }

  void draw(const mark& m) {
    line(x_at(m.x), top, x_at(m.x), bottom, "stroke=\"#888\" stroke-dasharray=\"4 3\"");
    label(x_at(m.x) + 4, top + 12, m.text, "start", "fill=\"#555\" font-size=\"11\"");
  }

  void legend() {
    double y = top + 24;
    for (const curve& c : chart_.curves) {
      line(right - 230, y - 4, right - 200, y - 4,
           "stroke=\"" + c.colour + "\" stroke-width=\"2\"" +
               (c.dashes.empty() ? "" : " stroke-dasharray=\"" + c.dashes + "\""));
      label(right - 192, y, c.name, "start");
      y += 20;
    }
  }

  const chart& chart_;
  std::string out_;
  double x_high_ = 1e-9, x_tick_ = 1.0, y_tick_ = 1.0;
  double y_low_ = std::numeric_limits<double>::max(),
         y_high_ = std::numeric_limits<double>::lowest();
};

}  // namespace detail

[[nodiscard]] inline std::string to_svg(const chart& what) {
  return detail::svg_writer(what).text();
}

}  // namespace quickstart
