#pragma once

#include <mdstream/core/detail/descriptors.hpp>
#include <mdstream/net/curl/loop.hpp>
#include <mdstream/net/curl/request_queue.hpp>
#include <mdstream/net/http_client.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE http_client::http_client(runtime& threads, http_client_options options)
    : shared_(std::make_shared<const shared>(threads, std::move(options))) {}

MDSTREAM_INLINE void http_client::async_send(http_request request, std::stop_token stop,
                                             diagnostics& where, handler done) const {
  const std::shared_ptr<detail::request_queue>& queue = shared_->least_busy();
  queue->add(std::make_shared<detail::http_transfer>(std::move(request), shared_->options,
                                                     std::move(stop), where, std::move(done)));
}

MDSTREAM_INLINE http_client::shared::shared(runtime& threads, http_client_options o)
    : options(std::make_shared<const http_client_options>(
          detail::with_trust(std::move(o), process_environment()))) {
  // Each takes two descriptors; most of those that are free are left to others.
  const std::size_t connections =
      std::max<std::size_t>(std::min(options->connections, mdstream::detail::most_at_once()), 1);
  const std::size_t lanes = std::min(threads.io_threads(), connections);
  for (std::size_t i = 0; i < lanes; ++i) {
    queues.push_back(detail::request_queue::make(
        threads.io(i), threads.service<detail::curl_loop>(i), (connections + i) / lanes));
  }
}

MDSTREAM_INLINE const std::shared_ptr<detail::request_queue>& http_client::shared::least_busy()
    const {
  return *std::ranges::min_element(queues, {}, [](const auto& each) { return each->size(); });
}

}  // namespace mdstream::inline v0::net
