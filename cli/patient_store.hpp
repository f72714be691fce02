#pragma once

/// The stores of a copy.

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>
#include <mdstream/store/full.hpp>
#include <mdstream/store/limited.hpp>
#include <mdstream/store/retrying.hpp>

#include "mapped_uploads.hpp"
#include "patience.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cli {

namespace mds = mdstream;

[[nodiscard]] inline bool is_local(const std::string& url) { return mds::url_scheme(url).empty(); }

/// Whether a failure may be taken for that there is nothing: it says so, or nobody may know. What
/// is done there next says the rest.
[[nodiscard]] inline bool tells_of_none(const std::error_code& code) {
  return code == mds::errc::not_found || code == mds::errc::permission_denied ||
         code == mds::errc::unsupported;
}

/// A store whose failures that pass are waited out, and that is asked by as many calls at a time as
/// it bears, until a stop, after which they fail with `errc::canceled`. Local paths need none of it
/// and are used as they are, on the calling thread. Thread-safe.
class patient_store {
 public:
  /// `beside`: another of the same server, with which it shares the retry budget and how many calls
  /// are under way.
  patient_store(mds::runtime& threads, const std::string& url, const store_patience& patience,
                std::stop_token stop, const patient_store* beside = nullptr);

  [[nodiscard]] std::vector<mds::object_info> list(const std::string& prefix) const;
  [[nodiscard]] mds::object_version version(const std::string& key) const;
  /// The object as a listing shows it.
  [[nodiscard]] mds::object_info look(const std::string& key) const;
  /// The same; nothing where the failure `tells_of_none`.
  [[nodiscard]] std::optional<mds::object_info> find(const std::string& key) const;
  std::size_t read(const std::string& key, std::uint64_t offset, mds::mutable_bytes into) const;
  void write(const std::string& key, mds::bytes_view bytes) const;
  /// The same for the bytes of a mapped file, of which few are in this process's memory at a time.
  /// `check` is called after each read of them, on any thread; what it throws ends the upload, and
  /// no object is made.
  void write_mapped(const std::string& key, mds::bytes_view bytes,
                    std::function<void()> check = {}) const;
  [[nodiscard]] std::string url(const std::string& key) const { return store_.url(key); }
  /// The asynchronous face, which does not try again by itself; who does takes from the budget.
  [[nodiscard]] const mds::any_async_store& async() const { return async_; }
  [[nodiscard]] const mds::detail::shared_retry_budget& budget() const { return budget_; }

 private:
  [[nodiscard]] mds::adaptive bounded(mds::runtime& threads, const patient_store* beside) const;

  std::shared_ptr<mapped_uploads> uploads_ = std::make_shared<mapped_uploads>();
  mds::full_store store_;
  std::stop_token stop_;
  mds::adaptive bounded_;
  mds::any_async_store async_;
  mds::detail::shared_retry_budget budget_;
  std::optional<mds::retrying> remote_;
};

}  // namespace cli
