#pragma once

/// Ready-made observers: a line on the terminal, JSON lines, a trace for Chrome and Perfetto.
///
///     using policies = mds::policies<mds::observe::progress_line>;

#include <mdstream/core/observe.hpp>

#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

namespace mdstream::inline v0::observe {

/// How long calls took, in buckets of 12 %: quantiles in constant memory. Not thread-safe.
class latencies {
 public:
  void add(std::chrono::nanoseconds took) noexcept;

  /// The time within which `part` (0 to 1) of the calls came back; 0 without any.
  [[nodiscard]] std::chrono::nanoseconds quantile(double part) const noexcept;

 private:
  static constexpr unsigned steps = 8;  // a power of two: buckets for each doubling

  [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t x) noexcept {
    if (x < steps) return static_cast<std::size_t>(x);
    const auto power = static_cast<unsigned>(std::bit_width(x)) - 4;
    return (power + 1) * steps + static_cast<std::size_t>((x >> power) - steps);
  }
  /// The middle of a bucket.
  [[nodiscard]] static constexpr std::uint64_t value_of(std::size_t bucket) noexcept {
    if (bucket < steps) return bucket;
    const std::size_t power = bucket / steps - 1;
    const std::uint64_t begin = (steps + bucket % steps) << power;
    return begin + ((std::uint64_t{1} << power) >> 1);
  }

  std::array<std::uint64_t, 61 * steps> count_{};
  std::uint64_t total_ = 0;
};

namespace detail {

/// A file to write to, or one of the program's own streams.
class output {
 public:
  explicit output(std::FILE* borrowed) noexcept : file_(borrowed, closer{false}) {}
  /// Throws as the system says why the file cannot be written.
  explicit output(const std::string& path);
  void write(const std::string& text) const noexcept;
  void flush() const noexcept { (void)std::fflush(file_.get()); }

 private:
  struct closer {
    bool own = false;
    void operator()(std::FILE* file) const noexcept {
      if (own) (void)std::fclose(file);
    }
  };
  std::unique_ptr<std::FILE, closer> file_;
};

/// "1.5 ms"
[[nodiscard]] std::string text_of(std::chrono::nanoseconds time);

[[nodiscard]] inline double seconds(std::chrono::nanoseconds time) noexcept {
  return std::chrono::duration<double>(time).count();
}

}  // namespace detail

/// Rewrites a line on the terminal twice a second: the position of the run, its speed, how long
/// calls take, and the bytes fetched.
///
///     using policies = mds::policies<rows, mds::observe::progress_line>;
class progress_line {
 public:
  explicit progress_line(std::FILE* to = stderr) noexcept : out_(to) {}
  progress_line(progress_line&&) noexcept = default;
  progress_line& operator=(progress_line&&) noexcept = default;
  ~progress_line() {
    if (shown_) out_.write("\n");
  }

  void operator()(const step& what);
  void operator()(const warning& what) const { tell("warning: " + what.text); }

 private:
  /// In place of the line, which comes again below.
  void tell(const std::string& text) const;

  [[nodiscard]] std::string line(const step& what, std::chrono::steady_clock::time_point now) const;

  detail::output out_;
  latencies took_;
  std::chrono::steady_clock::time_point began_{};
  std::chrono::steady_clock::time_point last_{};
  bool shown_ = false;
};

/// Writes a JSON object for each step, with times in seconds. Replaces the file of that path, and
/// throws the system's reason if it cannot. Later writes that fail are ignored.
///
///     using policies = mds::policies<mds::observe::json_lines>;
///     mds::loader<policies> loader(options, {}, mds::observe::json_lines("steps.jsonl"));
class json_lines {
 public:
  explicit json_lines(std::FILE* to = stdout) noexcept : out_(to) {}
  explicit json_lines(const std::string& path) : out_(path) {}

  void operator()(const step& what);

 private:
  detail::output out_;
  latencies took_;
};

/// A trace in the JSON array form of the Trace Event Format, for chrome://tracing and
/// ui.perfetto.dev: each call for a batch and its stall as slices, bytes and queue as counters. The
/// file can be opened before it is closed. Files and failures as with `json_lines`.
///
///     using policies = mds::policies<mds::observe::chrome_trace>;
///     mds::loader<policies> loader(options, {}, mds::observe::chrome_trace("trace.json"));
class chrome_trace {
 public:
  explicit chrome_trace(const std::string& path) : out_(path) { out_.write("[\n"); }

  void operator()(const step& what);

 private:
  [[nodiscard]] static std::int64_t microseconds(std::chrono::nanoseconds time) noexcept {
    return time.count() / 1000;
  }
  void slice(const char* name, std::int64_t at, std::chrono::nanoseconds took, const step& what);
  void counter(const char* name, std::int64_t at, std::uint64_t value);

  detail::output out_;
};

/// Calls several observers in order, each with the events that it takes.
///
///     using both = mds::observe::all<mds::observe::progress_line, mds::observe::chrome_trace>;
///     both observer{mds::observe::progress_line(), mds::observe::chrome_trace("trace.json")};
template <observer... Observers>
class all {
 public:
  explicit all(Observers... observers) : observers_(std::move(observers)...) {}
  template <class Event>
    requires(std::invocable<Observers&, const Event&> || ...)
  void operator()(const Event& what) {
    std::apply([&](auto&... each) { (tell(each, what), ...); }, observers_);
  }

 private:
  template <class Observer, class Event>
  static void tell(Observer& one, const Event& what) {
    if constexpr (std::invocable<Observer&, const Event&>) one(what);
  }

  std::tuple<Observers...> observers_;
};

static_assert(observer<progress_line> && observer<json_lines> && observer<chrome_trace> &&
              observer<all<progress_line, json_lines>>);

}  // namespace mdstream::inline v0::observe

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/observers.ipp>
#endif
