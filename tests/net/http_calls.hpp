#pragma once

// Requests that are waited for.

#include <mdstream/async/detail/event.hpp>
#include <mdstream/net/http_client.hpp>

#include <memory>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace http_calls {

namespace mds = mdstream;
namespace net = mdstream::net;

struct outcome {
  std::error_code code;
  net::http_response answer;
  mds::diagnostics where;

  [[nodiscard]] std::string text() const { return mds::error(code, where).what(); }
};

// A request under way, and what came of it.
class call {
 public:
  call(const net::http_client& client, net::http_request request, std::stop_token stop = {})
      : state_(std::make_shared<state>()) {
    client.async_send(std::move(request), std::move(stop), state_->result.where,
                      [state = state_](std::error_code code, net::http_response answer) {
                        state->result.code = code;
                        state->result.answer = std::move(answer);
                        state->ended.set();
                      });
  }
  [[nodiscard]] const outcome& wait() const {
    state_->ended.wait();
    return state_->result;
  }

 private:
  struct state {
    outcome result;
    mds::detail::one_time_event ended;
  };
  std::shared_ptr<state> state_;
};

inline outcome send(const net::http_client& client, net::http_request request,
                    std::stop_token stop = {}) {
  return call(client, std::move(request), std::move(stop)).wait();
}

// GET of a URL into memory of that many bytes.
struct got : outcome {
  std::vector<std::byte> bytes;
};

inline got get(const net::http_client& client, std::string url, std::size_t room) {
  std::vector<std::byte> bytes(room);
  net::http_request request{.url = std::move(url), .sink = net::http_sink{.into = bytes}};
  outcome result = send(client, std::move(request));
  bytes.resize(static_cast<std::size_t>(result.answer.received));
  return {std::move(result), std::move(bytes)};
}

}  // namespace http_calls
