#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/stream/observers.hpp>
#include <mdstream/version.hpp>

#include <cerrno>
#include <cinttypes>

namespace mdstream::inline v0::observe {

MDSTREAM_INLINE void latencies::add(std::chrono::nanoseconds took) noexcept {
  ++count_[bucket_of(static_cast<std::uint64_t>(took.count()))];
  ++total_;
}

MDSTREAM_INLINE std::chrono::nanoseconds latencies::quantile(double part) const noexcept {
  const auto wanted = static_cast<std::uint64_t>(part * static_cast<double>(total_));
  std::uint64_t below = 0;
  for (std::size_t bucket = 0; bucket < count_.size(); ++bucket) {
    below += count_[bucket];
    if (count_[bucket] != 0 && below > wanted - (wanted == total_ && total_ != 0 ? 1 : 0))
      return std::chrono::nanoseconds(static_cast<std::int64_t>(value_of(bucket)));
  }
  return {};
}

}  // namespace mdstream::inline v0::observe

namespace mdstream::inline v0::observe::detail {

MDSTREAM_INLINE output::output(const std::string& path)
    : file_(std::fopen(path.c_str(), "we"), closer{true}) {
  if (!file_) throw system_failure(errno, "cannot write", path);
}

MDSTREAM_INLINE void output::write(const std::string& text) const noexcept {
  if (file_) (void)std::fwrite(text.data(), 1, text.size(), file_.get());
}

MDSTREAM_INLINE std::string text_of(std::chrono::nanoseconds time) {
  double value = static_cast<double>(time.count());
  std::size_t unit = 0;
  static constexpr std::array<const char*, 4> units{"ns", "us", "ms", "s"};
  for (; unit + 1 < units.size() && value >= 1000; ++unit) value /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", value, units[unit]);
  return text;
}

}  // namespace mdstream::inline v0::observe::detail

namespace mdstream::inline v0::observe {

MDSTREAM_INLINE void progress_line::operator()(const step& what) {
  took_.add(what.took);
  const auto now = what.begun + what.took;
  if (!shown_) began_ = what.begun;
  if (shown_ && now - last_ < std::chrono::milliseconds(500)) return;
  last_ = now;
  shown_ = true;
  out_.write(line(what, now));
  out_.flush();
}

MDSTREAM_INLINE void progress_line::tell(const std::string& text) const {
  out_.write((shown_ ? "\r\x1b[Kmdstream: " : "mdstream: ") + text + '\n');
}

MDSTREAM_INLINE std::string progress_line::line(const step& what,
                                                std::chrono::steady_clock::time_point now) const {
  const double time = detail::seconds(now - began_);
  const totals& sum = what.sum;
  const double hits = sum.needs == 0 ? 100.0
                                     : 100.0 * static_cast<double>(sum.needs - sum.misses) /
                                           static_cast<double>(sum.needs);
  char vetoed[32] = "";
  if (sum.vetoed != 0)
    std::snprintf(vetoed, sizeof vetoed, ", %.1f %% vetoed",
                  100.0 * static_cast<double>(sum.vetoed) / static_cast<double>(sum.samples));
  char text[320];
  std::snprintf(text, sizeof text,
                "\repoch %" PRIu64 ", batch %" PRIu64
                ": %.4g samples/s%s, next p50 %s, p99 %s, stalled %.0f %%, %.4g MB fetched, hits "
                "%.1f %%, %" PRIu64 " prefetched\x1b[K",
                what.epoch, what.batch, time > 0 ? static_cast<double>(sum.samples) / time : 0.0,
                vetoed, detail::text_of(took_.quantile(0.5)).c_str(),
                detail::text_of(took_.quantile(0.99)).c_str(),
                time > 0 ? 100.0 * detail::seconds(sum.stalled) / time : 0.0,
                static_cast<double>(sum.bytes_fetched) / 1e6, hits, what.queued);
  return text;
}

MDSTREAM_INLINE void json_lines::operator()(const step& what) {
  took_.add(what.took);
  char text[768];
  std::snprintf(text, sizeof text,
                "{\"epoch\":%" PRIu64 ",\"batch\":%" PRIu64 ",\"samples\":%" PRIu64
                ",\"results\":%" PRIu64 ",\"vetoed\":%" PRIu64
                ",\"next_s\":%.9f,\"stall_s\":%.9f,\"queued\":%" PRIu64
                ",\"total\":{\"samples\":%" PRIu64 ",\"results\":%" PRIu64 ",\"vetoed\":%" PRIu64
                ",\"bytes_fetched\":%" PRIu64 ",\"requests\":%" PRIu64 ",\"failures\":%" PRIu64
                ",\"hits\":%" PRIu64 ",\"misses\":%" PRIu64 ",\"evictions\":%" PRIu64
                ",\"stall_s\":%.9f,\"next_p50_s\":%.9f,\"next_p99_s\":%.9f}}\n",
                what.epoch, what.batch, what.samples, what.results, what.vetoed,
                detail::seconds(what.took), detail::seconds(what.stalled), what.queued,
                what.sum.samples, what.sum.results, what.sum.vetoed, what.sum.bytes_fetched,
                what.sum.requests, what.sum.failures, what.sum.needs - what.sum.misses,
                what.sum.misses, what.sum.evictions, detail::seconds(what.sum.stalled),
                detail::seconds(took_.quantile(0.5)), detail::seconds(took_.quantile(0.99)));
  out_.write(text);
}

MDSTREAM_INLINE void chrome_trace::operator()(const step& what) {
  const std::int64_t begun = microseconds(what.begun.time_since_epoch());
  slice("next", begun, what.took, what);
  if (what.stalled.count() > 0)
    slice("stall", begun + microseconds(what.took - what.stalled), what.stalled, what);
  counter("fetched bytes", begun, what.sum.bytes_fetched);
  counter("prefetched batches", begun, what.queued);
}

MDSTREAM_INLINE void chrome_trace::slice(const char* name, std::int64_t at,
                                         std::chrono::nanoseconds took, const step& what) {
  char text[256];
  std::snprintf(text, sizeof text,
                "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%" PRId64
                ",\"dur\":%.3f,\"args\":{\"epoch\":%" PRIu64 ",\"batch\":%" PRIu64 "}},\n",
                name, at, static_cast<double>(took.count()) / 1000, what.epoch, what.batch);
  out_.write(text);
}

MDSTREAM_INLINE void chrome_trace::counter(const char* name, std::int64_t at, std::uint64_t value) {
  char text[160];
  std::snprintf(text, sizeof text,
                "{\"name\":\"%s\",\"ph\":\"C\",\"pid\":1,\"ts\":%" PRId64
                ",\"args\":{\"value\":%" PRIu64 "}},\n",
                name, at, value);
  out_.write(text);
}

}  // namespace mdstream::inline v0::observe
