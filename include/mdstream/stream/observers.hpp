#pragma once

/// Ready-made observers: a line on the terminal, JSON lines, a trace for Chrome and Perfetto.
///
///     struct policies : mds::default_policies {
///       using observer = mds::observe::progress_line;
///     };

#include <mdstream/core/error.hpp>
#include <mdstream/core/observe.hpp>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cinttypes>
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
  void add(std::chrono::nanoseconds took) noexcept {
    ++count_[bucket_of(static_cast<std::uint64_t>(took.count()))];
    ++total_;
  }

  /// The time within which `part` (0 to 1) of the calls came back; 0 without any.
  [[nodiscard]] std::chrono::nanoseconds quantile(double part) const noexcept {
    const auto wanted = static_cast<std::uint64_t>(part * static_cast<double>(total_));
    std::uint64_t below = 0;
    for (std::size_t bucket = 0; bucket < count_.size(); ++bucket) {
      below += count_[bucket];
      if (count_[bucket] != 0 && below > wanted - (wanted == total_ && total_ != 0 ? 1 : 0))
        return std::chrono::nanoseconds(static_cast<std::int64_t>(value_of(bucket)));
    }
    return {};
  }

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
  /// Throws as the system says why the file can not be written.
  explicit output(const std::string& path) : file_(std::fopen(path.c_str(), "we"), closer{true}) {
    if (!file_) throw system_failure(errno, "cannot write", path);
  }
  void write(const std::string& text) const noexcept {
    if (file_) (void)std::fwrite(text.data(), 1, text.size(), file_.get());
  }
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
[[nodiscard]] inline std::string text_of(std::chrono::nanoseconds time) {
  double value = static_cast<double>(time.count());
  std::size_t unit = 0;
  static constexpr std::array<const char*, 4> units{"ns", "us", "ms", "s"};
  for (; unit + 1 < units.size() && value >= 1000; ++unit) value /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", value, units[unit]);
  return text;
}

[[nodiscard]] inline double seconds(std::chrono::nanoseconds time) noexcept {
  return std::chrono::duration<double>(time).count();
}

}  // namespace detail

/// One line on the terminal, rewritten twice a second: where the run is, how fast, how long calls
/// take, and what it fetched.
class progress_line {
 public:
  explicit progress_line(std::FILE* to = stderr) noexcept : out_(to) {}
  progress_line(progress_line&&) noexcept = default;
  progress_line& operator=(progress_line&&) noexcept = default;
  ~progress_line() {
    if (shown_) out_.write("\n");
  }

  void operator()(const step& what) {
    took_.add(what.took);
    const auto now = what.begun + what.took;
    if (!shown_) began_ = what.begun;
    if (shown_ && now - last_ < std::chrono::milliseconds(500)) return;
    last_ = now;
    shown_ = true;
    out_.write(line(what, now));
    out_.flush();
  }

  void operator()(const stale_state& what) const {
    tell("the state of epoch " + std::to_string(what.epoch) + " is stale: epoch " +
         std::to_string(what.next_epoch) + " comes next");
  }
  void operator()(const warning& what) const { tell("warning: " + what.text); }

 private:
  /// In place of the line, which comes again below.
  void tell(const std::string& text) const {
    out_.write((shown_ ? "\r\x1b[Kmdstream: " : "mdstream: ") + text + '\n');
  }

  [[nodiscard]] std::string line(const step& what,
                                 std::chrono::steady_clock::time_point now) const {
    const double time = detail::seconds(now - began_);
    const totals& sum = what.sum;
    const double hits = sum.needs == 0 ? 100.0
                                       : 100.0 * static_cast<double>(sum.needs - sum.misses) /
                                             static_cast<double>(sum.needs);
    char text[256];
    std::snprintf(text, sizeof text,
                  "\repoch %" PRIu64 ", batch %" PRIu64
                  ": %.4g samples/s, next p50 %s, p99 %s, stalled %.0f %%, %.4g MB fetched, hits "
                  "%.1f %%, %" PRIu64 " ahead\x1b[K",
                  what.epoch, what.batch, time > 0 ? static_cast<double>(sum.samples) / time : 0.0,
                  detail::text_of(took_.quantile(0.5)).c_str(),
                  detail::text_of(took_.quantile(0.99)).c_str(),
                  time > 0 ? 100.0 * detail::seconds(sum.stalled) / time : 0.0,
                  static_cast<double>(sum.bytes_fetched) / 1e6, hits, what.queued);
    return text;
  }

  detail::output out_;
  latencies took_;
  std::chrono::steady_clock::time_point began_{};
  std::chrono::steady_clock::time_point last_{};
  bool shown_ = false;
};

/// A JSON object a step, times in seconds.
class json_lines {
 public:
  explicit json_lines(std::FILE* to = stdout) noexcept : out_(to) {}
  explicit json_lines(const std::string& path) : out_(path) {}

  void operator()(const step& what) {
    took_.add(what.took);
    char text[640];
    std::snprintf(
        text, sizeof text,
        "{\"epoch\":%" PRIu64 ",\"batch\":%" PRIu64 ",\"samples\":%" PRIu64
        ",\"next_s\":%.9f,\"stall_s\":%.9f,\"queued\":%" PRIu64 ",\"total\":{\"samples\":%" PRIu64
        ",\"bytes_fetched\":%" PRIu64 ",\"requests\":%" PRIu64 ",\"failures\":%" PRIu64
        ",\"hits\":%" PRIu64 ",\"misses\":%" PRIu64 ",\"evictions\":%" PRIu64
        ",\"stall_s\":%.9f,\"next_p50_s\":%.9f,\"next_p99_s\":%.9f}}\n",
        what.epoch, what.batch, what.samples, detail::seconds(what.took),
        detail::seconds(what.stalled), what.queued, what.sum.samples, what.sum.bytes_fetched,
        what.sum.requests, what.sum.failures, what.sum.needs - what.sum.misses, what.sum.misses,
        what.sum.evictions, detail::seconds(what.sum.stalled), detail::seconds(took_.quantile(0.5)),
        detail::seconds(took_.quantile(0.99)));
    out_.write(text);
  }

 private:
  detail::output out_;
  latencies took_;
};

/// A trace in the JSON array form of the Trace Event Format, for chrome://tracing and
/// ui.perfetto.dev: each call for a batch and its stall as slices, bytes and queue as counters. The
/// file can be opened before it is closed.
class chrome_trace {
 public:
  explicit chrome_trace(const std::string& path) : out_(path) { out_.write("[\n"); }

  void operator()(const step& what) {
    const std::int64_t begun = microseconds(what.begun.time_since_epoch());
    slice("next", begun, what.took, what);
    if (what.stalled.count() > 0)
      slice("stall", begun + microseconds(what.took - what.stalled), what.stalled, what);
    counter("fetched bytes", begun, what.sum.bytes_fetched);
    counter("batches ahead", begun, what.queued);
  }

 private:
  [[nodiscard]] static std::int64_t microseconds(std::chrono::nanoseconds time) noexcept {
    return time.count() / 1000;
  }
  void slice(const char* name, std::int64_t at, std::chrono::nanoseconds took, const step& what) {
    char text[256];
    std::snprintf(text, sizeof text,
                  "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%" PRId64
                  ",\"dur\":%.3f,\"args\":{\"epoch\":%" PRIu64 ",\"batch\":%" PRIu64 "}},\n",
                  name, at, static_cast<double>(took.count()) / 1000, what.epoch, what.batch);
    out_.write(text);
  }
  void counter(const char* name, std::int64_t at, std::uint64_t value) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "{\"name\":\"%s\",\"ph\":\"C\",\"pid\":1,\"ts\":%" PRId64
                  ",\"args\":{\"value\":%" PRIu64 "}},\n",
                  name, at, value);
    out_.write(text);
  }

  detail::output out_;
};

/// Tells several observers, in order, of what each of them hears.
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
