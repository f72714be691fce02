#pragma once

// What the lines of the pages on stores rely on, and where their URLs lie in a test.

#include <mdstream/full.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/net/http_client.hpp>
#include <mdstream/store/hedged.hpp>
#include <mdstream/store/limited.hpp>
#include <mdstream/store/retrying.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace mds = mdstream;
using namespace mds::literals;

using policies = mds::policies<mds::schema<mds::column<"x", std::int64_t>>, mds::full_store,
                               mds::collate::dense>;

inline constexpr std::int64_t rows = 100;

inline std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The URL or path of the page, with what MDSTREAM_DOC_PLACES (`from=to`, a line each; the first
/// that fits) says in place of its beginning. It has to be one that the section's store serves.
template <class Store>
std::string at(std::string url) {
  std::istringstream places(variable("MDSTREAM_DOC_PLACES"));
  bool placed = false;
  for (std::string line; !placed && std::getline(places, line);) {
    const std::size_t equals = line.find('=');
    const std::string from = line.substr(0, equals);
    placed = url.starts_with(from);
    if (placed) url = line.substr(equals + 1) + url.substr(from.size());
  }
  if (!placed) throw std::runtime_error("no place for " + url);
  const bool local = mds::store::local::serves(url);
  if (!local && !Store::serves(url))
    throw std::runtime_error("the section's store serves no " + url);
  return url;
}

/// Reads a URL that lets in by itself.
inline void fetch(mds::runtime& threads, const std::string& url) {
  const auto answer = mds::detail::wait_for<mds::net::http_response>([&](auto& where, auto done) {
    mds::net::http_client(threads, {}).async_send({.url = url}, {}, where, std::move(done));
  });
  if (!answer.ok() || answer.text.find("shards") == std::string::npos) {
    throw std::runtime_error("the signed URL is answered " + std::to_string(answer.status));
  }
}

template <class Writer>
void fill(Writer& out) {
  for (std::int64_t x = 0; x < rows; ++x) out.write(x);
  out.finish();
}

template <class Loader>
void drain(Loader& loader) {
  std::int64_t sum = 0, count = 0;
  for (auto& batch : loader.epoch()) {
    for (const std::int64_t x : batch.template get<"x">()) {
      sum += x;
      ++count;
    }
  }
  if (count < rows || sum < rows * (rows - 1) / 2) throw std::runtime_error("samples are missing");
}

template <class Dataset>
void look(Dataset& data) {
  if (data.size() != rows) throw std::runtime_error("samples are missing");
  for (std::size_t i = 0; i < rows; ++i) {
    if (data[i].template get<"x">() != static_cast<std::int64_t>(i)) {
      throw std::runtime_error("a sample is another");
    }
  }
}
