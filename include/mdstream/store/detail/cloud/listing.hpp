#pragma once

/// A listing, page by page and directory by directory. Needs libcurl: link mdstream::curl.

#include <mdstream/store/detail/cloud/client.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <unordered_set>
#include <vector>

namespace mdstream::inline v0::detail {

/// A service of the runtime: how many objects the listings of its clouds' stores have found so far,
/// to show how far one is.
struct listing_progress {
  explicit listing_progress(asio::io_context&) {}
  std::atomic<std::uint64_t> found{0};
};

/// One listing on its way; keeps itself until it completes. Keys are relative to the store's root,
/// sorted. Left out are the empty objects with a `/` at the end that tools make for folders: no key
/// of a store names them.
class cloud_listing : public std::enable_shared_from_this<cloud_listing> {
 public:
  cloud_listing(cloud_client client, std::string prefix, std::stop_token stop, diagnostics& where,
                store_handler<std::vector<object_info>> done);

  void begin();

 private:
  void next_call();

  void send(const cloud_call& call);

  void take_answer(const cloud_call& call, std::error_code code, const net::http_response& answer);

  /// What was found stays: a page is asked for again by itself. The first one is not: the
  /// code that repeats the store's calls does that.
  void failed(const cloud_call& call, std::error_code code);

  /// What may not be asked for may be there, with nothing in it.
  void ask_for_place(cloud_call call);

  void add(cloud_page page);

  const cloud_client client_;
  const std::string root_, prefix_;
  const std::stop_token stop_;
  diagnostics& where_;
  store_handler<std::vector<object_info>> done_;
  std::vector<object_info> found_{};
  std::vector<cloud_call> left_{};
  std::unordered_set<std::string> asked_{};       // URLs of pages
  std::unordered_set<std::string> began_with_{};  // first keys of pages
  std::optional<call_attempts> made_{};           // of this page
  bool is_first_ = true;
  std::size_t pages_in_vain_ = 0, empty_pages_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/cloud/listing.ipp>
#endif
