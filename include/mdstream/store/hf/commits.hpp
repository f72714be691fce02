#pragma once

/// The commits of one repository of the Hugging Face Hub. Needs libcurl: link mdstream::hf.

#include <mdstream/schedule/retry.hpp>
#include <mdstream/store/cloud/client.hpp>
#include <mdstream/store/cloud/upload.hpp>
#include <mdstream/store/hf/messages.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

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
[[nodiscard]] inline std::vector<hub_change> take_commit(std::deque<hub_change>& waiting) {
  constexpr std::size_t most_bytes = 32 << 20;
  std::vector<hub_change> out;
  std::unordered_set<std::string> keys;
  std::size_t bytes = 0;
  while (!waiting.empty()) {
    const hub_change& next = waiting.front();
    bytes += next.line.size();
    const bool fits = bytes <= most_bytes && !out.empty() && out.size() < next.together &&
                      out.size() < out.front().together;
    if (!out.empty() && (!fits || keys.contains(next.key))) break;
    keys.insert(next.key);
    out.push_back(std::move(waiting.front()));
    waiting.pop_front();
  }
  return out;
}

/// One commit is under way at a time, for the Hub takes one at a time, and has a limit on how many
/// in an hour; the changes that come meanwhile go together into the next one. Thread-safe.
class hub_commits : public std::enable_shared_from_this<hub_commits> {
 public:
  /// `url` is that of the API's commits.
  hub_commits(std::string url, retry_policy retry) : url_(std::move(url)), retry_(retry) {}

  /// Completes the change when it is in the repository, or has failed. After a requested stop it
  /// may be either.
  void add(const cloud_client& client, hub_change change) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(change));
      if (std::exchange(under_way_, true)) return;
    }
    send_next(client);
  }

 private:
  using changes = std::vector<hub_change>;

  /// Changes that wait hold their client, and so these commits: with a commit that is dropped
  /// because the runtime ends, they are as well.
  struct end_guard {
    explicit end_guard(std::shared_ptr<hub_commits> all) : commits(std::move(all)) {}
    end_guard(const end_guard&) = delete;
    end_guard& operator=(const end_guard&) = delete;
    ~end_guard() {
      std::deque<hub_change> dropped;
      if (commits == nullptr) return;
      const std::lock_guard lock(commits->mutex_);
      dropped.swap(commits->waiting_);
    }
    std::shared_ptr<hub_commits> commits;
  };

  void send_next(const cloud_client& client) {
    auto group = std::make_shared<changes>();
    changes unwanted;
    {
      const std::lock_guard lock(mutex_);
      while (group->empty() && !waiting_.empty()) {
        for (hub_change& each : take_commit(waiting_)) {
          (each.stop.stop_requested() ? unwanted : *group).push_back(std::move(each));
        }
      }
      under_way_ = !group->empty();
    }
    for (hub_change& each : unwanted) each.done(errc::canceled, {});
    if (group->empty()) return;
    auto text = std::make_shared<const std::string>(text_of(*group));
    std::make_shared<repeated_call>(
        client, retry_,
        [url = url_, text, key = group->front().key] {
          return cloud_call{.method = "POST",
                            .url = url,
                            .key = key,
                            .headers = {{"Content-Type", "application/x-ndjson"}},
                            .text = text,
                            .is_slow = true};
        },
        std::stop_token(),
        [self = shared_from_this(), client, group,
         ends = std::make_shared<end_guard>(shared_from_this())](
            std::error_code code, const net::http_response& answer, const diagnostics& about) {
          ends->commits = nullptr;
          self->take(client, *group, code, answer, about);
        })
        ->send();
  }

  [[nodiscard]] static std::string text_of(const changes& group) {
    std::string out = hf_detail::header_line(
        group.size() == 1 ? "Change " + group.front().key
                          : "Change " + std::to_string(group.size()) + " files");
    for (const hub_change& each : group) out += each.line;
    return out;
  }

  /// Whether the Hub refuses what the commit holds, and not who asks or where.
  [[nodiscard]] static bool is_about_changes(const net::http_response& answer) noexcept {
    return answer.status == 400 || answer.status == 413 || answer.status == 422;
  }

  void take(const cloud_client& client, changes& group, std::error_code code,
            const net::http_response& answer, diagnostics about) {
    if (!code) {
      try {
        hf_detail::require_commit(answer);
      } catch (const error& e) {
        code = e.code();
        about = e.where();
      }
    }
    // One change that the Hub does not take is no failure of the others, and one of many may be
    // too many: they go on by halves. Who may not write, or asks a repository that is not there,
    // meets the same with each of them.
    const bool was_absent = code == errc::not_found && client.api().was_absent(answer);
    const bool is_about_one = code && (was_absent || is_about_changes(answer));
    if (is_about_one && group.size() > 1) {
      const std::size_t half = (group.size() + 1) / 2;
      const std::lock_guard lock(mutex_);
      for (auto each = group.rbegin(); each != group.rend(); ++each) {
        each->together = half;
        waiting_.push_front(std::move(*each));
      }
      group.clear();
    }
    if (group.size() == 1 && group.front().removes && was_absent) code = {};
    for (hub_change& each : group) {
      if (code) about.url = client.api().url(each.key);
      each.done(code, about);
    }
    send_next(client);
  }

  const std::string url_;
  const retry_policy retry_;
  std::mutex mutex_;
  std::deque<hub_change> waiting_;
  bool under_way_ = false;
};

}  // namespace mdstream::inline v0::store
