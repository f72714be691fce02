#pragma once

/// Counts what a store does.

#include <mdstream/store/detail/adapter.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

/// What `metered` has counted.
struct store_metrics {
  std::uint64_t calls = 0;  ///< ended
  std::uint64_t failures = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t in_flight = 0;
  std::chrono::nanoseconds busy{0};  ///< the times of all calls, added up
};

/// A store that counts. Copies count together.
template <async_store S>
class metered : public detail::store_adapter<metered<S>, S> {
 public:
  explicit metered(S inner)
      : detail::store_adapter<metered, S>(std::move(inner)), shared_(std::make_shared<shared>()) {}

  [[nodiscard]] store_metrics metrics() const {
    const shared& s = *shared_;
    return {.calls = s.calls.load(),
            .failures = s.failures.load(),
            .bytes_read = s.bytes_read.load(),
            .bytes_written = s.bytes_written.load(),
            .in_flight = s.in_flight.load(),
            .busy = std::chrono::nanoseconds(s.busy.load())};
  }

 private:
  friend class detail::store_adapter<metered, S>;

  struct shared {
    std::atomic<std::uint64_t> calls{0}, failures{0}, bytes_read{0}, bytes_written{0}, in_flight{0};
    std::atomic<std::int64_t> busy{0};
  };

  template <class... Result, class Start>
  void run(detail::store_call call, std::stop_token stop, diagnostics& where, Start start,
           store_handler<Result...> done) const {
    ++shared_->in_flight;
    if constexpr (requires { start.take; }) {
      start.take = [common = shared_, take = std::move(start.take)](const object_version& found,
                                                                    bytes_view bytes) {
        common->bytes_read += bytes.size();
        take(found, bytes);
      };
    }
    start(
        std::move(stop), where,
        store_handler<Result...>([common = shared_, operation = call.operation, bytes = call.bytes,
                                  began = std::chrono::steady_clock::now(), done = std::move(done)](
                                     std::error_code code, Result... values) mutable {
          const auto took = std::chrono::steady_clock::now() - began;
          common->busy += std::chrono::nanoseconds(took).count();
          --common->in_flight;
          ++common->calls;
          if (code) ++common->failures;
          const bool wrote =
              operation == detail::store_operation::write && (was_written(values) && ...);
          if (!code && wrote) common->bytes_written += bytes;
          if (!code && operation == detail::store_operation::read) {
            ((common->bytes_read += got_by_read(values)), ...);
          }
          done(code, std::move(values)...);
        }));
  }

  [[nodiscard]] static std::uint64_t got_by_read(std::size_t got) noexcept { return got; }
  template <class Other>
  [[nodiscard]] static std::uint64_t got_by_read(const Other&) noexcept {
    return 0;
  }

  /// A creation tells that there was an object before.
  [[nodiscard]] static bool was_written(bool created) noexcept { return created; }
  template <class Other>
  [[nodiscard]] static bool was_written(const Other&) noexcept {
    return true;
  }

  std::shared_ptr<shared> shared_;
};

}  // namespace mdstream::inline v0
