#include "copy_plan.hpp"

#include "patient_store.hpp"

#include <mdstream/net/percent.hpp>
#include <mdstream/store/operations.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {

namespace {

// Keys of web servers are written in URLs with escapes; all other URLs have them as they are.
std::string key_of(std::string_view url, std::string_view text) {
  if (!mds::store::http::serves(url)) return std::string(text);
  const auto decoded = mds::net::percent_decode(text);
  if (!decoded) {
    throw mds::error(mds::errc::invalid_argument,
                     {.what = "the URL has a broken escape", .url = mds::net::redacted_url(url)});
  }
  return *decoded;
}

struct url_parts {
  std::string_view front;  // scheme and authority, or volume; empty for local paths
  std::string_view path;
  std::string_view query;  // with its `?`; local paths have none
};

// How much of a URL names the place of its keys: for `scheme://authority/key` up to the key, for
// `hf://datasets/org/name/key` or `hf://org/name/key` the repository, for `dbfs:/key` the scheme,
// for `dbfs:/Volumes/catalog/schema/volume/key` the volume.
std::size_t front_of(std::string_view url) {
  std::size_t end = url.find(':') + 1;
  int slashes = 0;
  if (url.substr(end).starts_with("//")) {
    slashes = url.starts_with("hf://datasets/") ? 5 : url.starts_with("hf:") ? 4 : 3;
  } else if (url.substr(end).starts_with("/Volumes/")) {
    slashes = 5;
  }
  for (int i = 0; i < slashes && end < url.size(); ++i) {
    end = std::min(url.find('/', i == 0 ? end : end + 1), url.size());
  }
  return end;
}

url_parts parts_of(std::string_view url) {
  url_parts out;
  if (!mds::url_scheme(url).empty()) {
    const std::size_t question = std::min(url.find('?'), url.size());
    out.query = url.substr(question);
    url = url.substr(0, question);
    out.front = url.substr(0, front_of(url));
    url.remove_prefix(out.front.size());
  }
  out.path = url;
  while (out.path.size() > 1 && out.path.ends_with('/')) out.path.remove_suffix(1);
  return out;
}

bool is_directory(const std::string& url) {
  return url.ends_with('/') || (mds::url_scheme(url).empty() && std::filesystem::is_directory(url));
}

// What lies beneath a URL; nothing where it is no directory or its store has none, nor, where it is
// an object, if listing is refused.
std::vector<mds::object_info> listed(const patient_store& store, bool is_object) {
  try {
    return store.list("");
  } catch (const mds::error& e) {
    const bool is_refused = e.code() == mds::errc::permission_denied && !is_object;
    if (is_refused || !tells_of_none(e.code())) throw;
    return {};
  }
}

}  // namespace

object_place parent_and_name(const std::string& url) {
  const url_parts parts = parts_of(url);
  const std::size_t slash = parts.path.rfind('/');
  const std::string_view name =
      slash == std::string_view::npos ? parts.path : parts.path.substr(slash + 1);
  const std::string_view above =
      slash == std::string_view::npos ? "" : parts.path.substr(0, std::max<std::size_t>(slash, 1));
  std::string store = std::string(parts.front) + std::string(above);
  if (store.empty()) store = ".";
  return {store + std::string(parts.query), key_of(url, name)};
}

object_place root_and_key(const std::string& url) {
  const url_parts parts = parts_of(url);
  std::string_view key = parts.path;
  std::string store(parts.front);
  if (store.empty()) store = key.starts_with('/') ? "/" : ".";
  while (key.starts_with('/')) key.remove_prefix(1);
  while (key.starts_with("./")) key.remove_prefix(2);
  return {store + std::string(parts.query), key_of(url, key)};
}

copy_plan plan_copy(mds::runtime& threads, const std::string& source,
                    const std::string& destination, const store_patience& patience,
                    const std::stop_token& stop) {
  copy_plan plan;
  const object_place from = parent_and_name(source);
  std::optional<mds::object_info> object;
  if (!from.key.empty() && !is_directory(source)) {
    object = patient_store(threads, from.store, patience, stop).find(from.key);
  }
  if (!object || object->bytes == 0) {  // as which some stores show directories
    plan.destination = destination;
    for (mds::object_info& each :
         listed(patient_store(threads, source, patience, stop), object.has_value())) {
      plan.items.push_back({source, each.key, each.key, each.bytes, std::move(each.digest)});
    }
    if (!plan.items.empty()) return plan;
  }
  if (!object)
    object = patient_store(threads, from.store, patience, stop).look(from.key);  // or why not
  object_place to{destination, from.key};
  if (!is_directory(destination)) to = parent_and_name(destination);
  plan.destination = std::move(to.store);
  plan.items.push_back(
      {from.store, from.key, std::move(to.key), object->bytes, std::move(object->digest)});
  return plan;
}

copy_plan plan_list(const std::string& file, const std::string& destination) {
  std::ifstream lines(file);
  if (!lines) throw mds::error(mds::errc::not_found, {.what = "cannot be read", .url = file});
  copy_plan plan{.destination = destination};
  for (std::string line; std::getline(lines, line);) {
    while (line.ends_with('\r') || line.ends_with(' ')) line.pop_back();
    if (line.empty()) continue;
    object_place place = root_and_key(line);
    mds::require_safe_key(place.key, mds::net::redacted_url(line));
    plan.items.push_back({std::move(place.store), place.key, place.key, {}, {}});
  }
  return plan;
}

}  // namespace cli
