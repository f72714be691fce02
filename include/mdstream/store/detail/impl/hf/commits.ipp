#pragma once

#include <mdstream/store/detail/cloud/upload.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/store/detail/hf/commits.hpp>
#include <mdstream/store/detail/hf/messages.hpp>
#include <mdstream/version.hpp>

#include <unordered_set>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::vector<hub_change> take_commit(std::deque<hub_change>& waiting) {
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

MDSTREAM_INLINE void hub_commits::add(const cloud_client& client, hub_change change) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(change));
    if (std::exchange(under_way_, true)) return;
  }
  send_next(client);
}

MDSTREAM_INLINE hub_commits::end_guard::~end_guard() {
  std::deque<hub_change> dropped;
  if (commits == nullptr) return;
  const std::lock_guard lock(commits->mutex_);
  dropped.swap(commits->waiting_);
}

MDSTREAM_INLINE void hub_commits::send_next(const cloud_client& client) {
  const auto one = std::make_shared<commit>();
  changes& group = one->group;
  changes unwanted;
  {
    const std::lock_guard lock(mutex_);
    while (group.empty() && !waiting_.empty()) {
      for (hub_change& each : take_commit(waiting_)) {
        (each.stop.stop_requested() ? unwanted : group).push_back(std::move(each));
      }
    }
    under_way_ = !group.empty();
  }
  for (hub_change& each : unwanted) each.done(errc::canceled, {});
  if (group.empty()) return;
  one->description = "mdstream " + unique_name();
  one->text = std::make_shared<const std::string>(text_of(*one));
  send(client, one);
}

MDSTREAM_INLINE void hub_commits::send(const cloud_client& client, std::shared_ptr<commit> one) {
  const auto make = [url = url_, text = one->text, key = one->group.front().key] {
    return cloud_call{.method = "POST",
                      .url = url,
                      .key = key,
                      .headers = {{"Content-Type", "application/x-ndjson"}},
                      .text = text,
                      .is_slow = true};
  };
  ask(
      client, make,
      [self = shared_from_this(), client, one](std::error_code code,
                                               const net::http_response& answer,
                                               const diagnostics& about) mutable {
        if (code && one->may_be_made(answer))
          return self->look(client, std::move(one), code, about);
        diagnostics where = about;
        if (!code) {
          try {
            detail::hf::require_commit(answer);
          } catch (const error& e) {
            code = e.code();
            where = e.where();
          }
        }
        self->take(client, one->group, code, answer, std::move(where));
      },
      [one](const net::http_response& answer) { return !one->may_be_made(answer); });
}

MDSTREAM_INLINE void hub_commits::look(const cloud_client& client, std::shared_ptr<commit> one,
                                       std::error_code code, const diagnostics& about) {
  const auto make = [url = history_, key = one->group.front().key] {
    return cloud_call{.url = url, .key = key};
  };
  ask(client, make,
      [self = shared_from_this(), client, one, code, about](
          std::error_code failure, const net::http_response& history, const diagnostics&) mutable {
        try {
          if (!failure && detail::hf::has_commit(history.text, one->description))
            return self->take(client, one->group, {}, history, {});
        } catch (const error&) {
          failure = errc::corrupt;
        }
        // Not there, or nobody knows: only what is known not to be there is sent again.
        if (failure || ++one->lost >= self->retry_.attempts)
          return self->take(client, one->group, code, {}, std::move(about));
        client.threads().after(
            std::max<std::chrono::nanoseconds>(
                about.retry_after.value_or(std::chrono::milliseconds(0)), self->retry_.pause),
            {}, [self, client, one, ends = std::make_shared<end_guard>(self)](std::error_code) {
              ends->commits = nullptr;
              self->send(client, one);
            });
      });
}

MDSTREAM_INLINE void hub_commits::ask(const cloud_client& client, std::function<cloud_call()> make,
                                      repeated_call::handler then,
                                      repeated_call::choice may_repeat) {
  std::make_shared<repeated_call>(
      client, retry_, std::move(make), std::stop_token(),
      [ends = std::make_shared<end_guard>(shared_from_this()), then = std::move(then)](
          std::error_code code, const net::http_response& answer,
          const diagnostics& about) mutable {
        ends->commits = nullptr;
        then(code, answer, about);
      },
      nullptr, std::move(may_repeat))
      ->send();
}

MDSTREAM_INLINE bool hub_commits::commit::may_be_made(
    const net::http_response& answer) const noexcept {
  // Once one was lost, the commit that is under way or came in between may be that one.
  const bool behind_another = answer.status == 409 || answer.status == 412;
  return answer.status == 0 || answer.status >= 500 || (lost > 0 && behind_another);
}

MDSTREAM_INLINE std::string hub_commits::text_of(const commit& one) {
  const changes& group = one.group;
  std::string out = detail::hf::header_line(
      group.size() == 1 ? "Change " + group.front().key
                        : "Change " + std::to_string(group.size()) + " files",
      one.description);
  for (const hub_change& each : group) out += each.line;
  return out;
}

MDSTREAM_INLINE bool hub_commits::is_about_changes(const net::http_response& answer) noexcept {
  return answer.status == 400 || answer.status == 413 || answer.status == 422;
}

MDSTREAM_INLINE void hub_commits::take(const cloud_client& client, changes& group,
                                       std::error_code code, const net::http_response& answer,
                                       diagnostics about) {
  // One change that the Hub does not take is no failure of the others, and one of many may be
  // too many: they go on by halves. A token without the right, or a repository that is not there,
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

}  // namespace mdstream::inline v0::detail
