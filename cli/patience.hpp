#pragma once

/// How long a command waits for a store that is out of order.

#include <mdstream/core/warning.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>

#include <CLI/App.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

namespace cli {

namespace mds = mdstream;

/// Warns on a line of its own, also where a progress bar is drawn.
inline void warn(const std::string& text) {
  if (::isatty(STDERR_FILENO) == 1) std::fputs("\r\033[K", stderr);
  mds::warn_on_stderr(text);
}

struct store_patience {
  std::chrono::milliseconds most = mds::default_patience;  ///< 0: what fails is not repeated

  /// For each request of a store.
  [[nodiscard]] mds::retry_policy requests() const {
    return mds::patient_requests(most, most.count() == 0 ? 1 : 4);
  }
  /// For all requests of a store. Warns of the first that is repeated at once.
  [[nodiscard]] mds::detail::shared_retry_budget budget() const {
    return {mds::detail::retry_budget::of_many(), mds::detail::tells_of_trouble(&warn, {}, most)};
  }
};

/// `--patience SECONDS`.
inline void add_patience(CLI::App& command, std::function<void(std::chrono::milliseconds)> set) {
  command
      .add_option_function<double>(
          "--patience",
          [set = std::move(set)](double seconds) {
            set(std::chrono::duration_cast<std::chrono::milliseconds>(
                std::chrono::duration<double>(seconds)));
          },
          "Seconds for which a store may be unavailable; its requests are retried meanwhile")
      ->default_str("900")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9));
}
inline void add_patience(CLI::App& command, store_patience& patience) {
  add_patience(command, [&patience](std::chrono::milliseconds most) { patience.most = most; });
}

}  // namespace cli
