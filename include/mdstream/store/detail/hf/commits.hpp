#pragma once

/// The commits of one repository of the Hugging Face Hub. Needs libcurl: link mdstream::hf.

#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/cloud/upload.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// What a commit does to one object.
struct hub_change {
  using handler = unique_function<void(std::error_code, const diagnostics&)>;

  std::string key{};
  std::string line{};      ///< see `hf_detail::change_line`
  std::stop_token stop{};  ///< requested: the change is no longer wanted
  handler done{};
  bool removes = false;        ///< that there is no such object is no failure
  std::size_t together = 100;  ///< at most so many in its commit: the Hub advises fewer
};

/// Takes from the front what goes into one commit. Changes of one object go into several, in their
/// order.
[[nodiscard]] std::vector<hub_change> take_commit(std::deque<hub_change>& waiting);

/// One commit is under way at a time, for the Hub takes one at a time, and has a limit on how many
/// in an hour; the changes that come meanwhile go together into the next one. Thread-safe.
class hub_commits : public std::enable_shared_from_this<hub_commits> {
 public:
  /// `url` is where the API takes commits, `history` where it lists them.
  hub_commits(std::string url, std::string history, retry_policy retry)
      : url_(std::move(url)), history_(std::move(history)), retry_(retry) {}

  /// Completes the change when it is in the repository, or has failed. After a requested stop it
  /// may be either.
  void add(const cloud_client& client, hub_change change);

 private:
  using changes = std::vector<hub_change>;

  /// Changes that wait hold their client, and so these commits: with a commit that is dropped
  /// because the runtime ends, they are as well.
  struct end_guard {
    explicit end_guard(std::shared_ptr<hub_commits> all) : commits(std::move(all)) {}
    end_guard(const end_guard&) = delete;
    end_guard& operator=(const end_guard&) = delete;
    ~end_guard();
    std::shared_ptr<hub_commits> commits;
  };

  /// A commit and what tells it from all others: a description that no other has.
  struct commit {
    changes group{};
    std::string description{};
    std::shared_ptr<const std::string> text{};
    unsigned lost = 0;  ///< answers

    /// Whether it may have been made, though its answer is none that says so.
    [[nodiscard]] bool may_be_made(const net::http_response& answer) const noexcept;
  };

  void send_next(const cloud_client& client);

  void send(const cloud_client& client, std::shared_ptr<commit> one);

  /// Where no answer came, the commit may have been made. It is not sent again before the branch's
  /// history was asked: the Hub would take it twice.
  void look(const cloud_client& client, std::shared_ptr<commit> one, std::error_code code,
            const diagnostics& about);

  /// The calls of a commit; `then` is dropped with them where the runtime ends.
  void ask(const cloud_client& client, std::function<cloud_call()> make,
           repeated_call::handler then, repeated_call::choice may_repeat = {});

  [[nodiscard]] static std::string text_of(const commit& one);

  /// Whether the Hub refuses what the commit holds, and not the token or the place.
  [[nodiscard]] static bool is_about_changes(const net::http_response& answer) noexcept;

  void take(const cloud_client& client, changes& group, std::error_code code,
            const net::http_response& answer, diagnostics about);

  const std::string url_, history_;
  const retry_policy retry_;
  std::mutex mutex_;
  std::deque<hub_change> waiting_;
  bool under_way_ = false;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/hf/commits.ipp>
#endif
