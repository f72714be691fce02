#pragma once

// What every store has to do, run over each model and over archetypes of both kinds.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <mdstream/async/runtime.hpp>
#include <mdstream/store/opened_store.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/store.hpp>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace conformance {

namespace mds = mdstream;
using mds::errc;
using support::expect_error;

inline std::vector<std::byte> noise(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

template <mds::object_store S>
std::vector<std::string> keys_of(const S& store, std::string_view prefix) {
  std::vector<std::string> keys;
  for (const mds::object_info& each : mds::store_list(store, prefix)) keys.push_back(each.key);
  return keys;
}

template <mds::object_store S>
void check_objects(const S& store) {
  const std::vector<std::byte> bytes = noise(100'000, 1);
  mds::store_write(store, "a/b/object", bytes);
  CHECK(mds::store_size(store, "a/b/object") == bytes.size());
  CHECK(mds::read_all(store, "a/b/object") == bytes);
  CHECK(mds::exists(store, "a/b/object"));
  const std::vector<std::byte> other = noise(10, 2);
  mds::store_write(store, "a/b/object", other);
  CHECK(mds::read_all(store, "a/b/object") == other);
  mds::store_write(store, "empty", {});
  CHECK(mds::store_size(store, "empty") == 0);
  CHECK(mds::read_all(store, "empty").empty());
  mds::publish(store, "a/index", bytes);
  CHECK(mds::read_all(store, "a/index") == bytes);
}

template <mds::object_store S>
void check_ranges(const S& store) {
  const std::vector<std::byte> bytes = noise(1000, 3);
  mds::store_write(store, "ranges", bytes);
  std::vector<std::byte> into(300);
  CHECK(mds::store_read(store, "ranges", 500, into) == 300);
  CHECK(std::equal(into.begin(), into.end(), bytes.begin() + 500));
  CHECK(mds::store_read(store, "ranges", 900, into) == 100);
  CHECK(std::equal(into.begin(), into.begin() + 100, bytes.begin() + 900));
  CHECK(mds::store_read(store, "ranges", 1000, into) == 0);
  CHECK(mds::store_read(store, "ranges", 5000, into) == 0);
  CHECK(mds::store_read(store, "ranges", 10, {}) == 0);
}

template <mds::object_store S>
void check_listing(const S& store) {
  for (const char* key : {"list/b", "list/a/2", "list/a/1", "listing", "list/ü z+%2F"}) {
    mds::store_write(store, key, noise(7, 4));
  }
  CHECK(keys_of(store, "list/") ==
        std::vector<std::string>{"list/a/1", "list/a/2", "list/b", "list/ü z+%2F"});
  CHECK(keys_of(store, "list/a/").size() == 2);
  CHECK(keys_of(store, "list").size() == 5);
  CHECK(keys_of(store, "nothing").empty());
  CHECK(mds::store_list(store, "list/b").front().bytes == 7);
}

template <mds::object_store S>
void check_absence(const S& store) {
  std::vector<std::byte> into(1);
  CHECK_FALSE(mds::exists(store, "absent"));
  expect_error([&] { (void)mds::store_size(store, "absent"); }, errc::not_found, {"absent"});
  expect_error([&] { mds::store_read(store, "absent", 0, into); }, errc::not_found, {"absent"});
  mds::store_remove(store, "absent");
  mds::store_write(store, "present", into);
  mds::store_remove(store, "present");
  CHECK_FALSE(mds::exists(store, "present"));
}

template <mds::object_store S>
void check_keys(const S& store) {
  for (const std::string& key : {std::string("../outside"), std::string("a/../../outside"),
                                 std::string("/absolute"), std::string(""), std::string("a//b"),
                                 std::string("a/./b"), std::string("a\0b", 3), std::string("..")}) {
    INFO(key);
    std::vector<std::byte> into(1);
    expect_error([&] { mds::store_write(store, key, into); }, errc::invalid_argument);
    expect_error([&] { mds::store_read(store, key, 0, into); }, errc::invalid_argument);
    expect_error([&] { mds::store_remove(store, key); }, errc::invalid_argument);
  }
}

/// A key of exactly so many bytes of UTF-8, in parts that file systems take.
inline std::string long_key(std::size_t bytes) {
  std::string key;
  const auto add = [&key](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) key += "漢";
  };
  while (bytes - key.size() > 200) {
    add(66);
    key += '/';
  }
  add((bytes - key.size()) / 3);
  return key.append(bytes - key.size(), 'x');
}

/// S3 and the other clouds take keys of up to 1024 bytes, with what a store puts before them.
template <mds::object_store S>
void check_long_key(const S& store, std::size_t bytes) {
  const std::string key = long_key(bytes);
  REQUIRE(key.size() == bytes);
  const std::vector<std::byte> object = noise(1000, 5);
  mds::store_write(store, key, object);
  CHECK(keys_of(store, key.substr(0, 50 * 3)) == std::vector<std::string>{key});
  CHECK(mds::store_size(store, key) == object.size());
  CHECK(mds::read_all(store, key) == object);
  mds::store_remove(store, key);
  CHECK_FALSE(mds::exists(store, key));
}

/// Readers see one whole object or the other while it is replaced.
template <mds::object_store S>
void check_replacing(const S& store) {
  const std::vector<std::byte> one(50'000, std::byte{1}), two(50'000, std::byte{2});
  mds::store_write(store, "changing", one);
  std::jthread writer([&] {
    for (int i = 0; i < 20; ++i) mds::store_write(store, "changing", i % 2 == 0 ? two : one);
  });
  bool whole = true;
  for (int i = 0; i < 50; ++i) {
    std::vector<std::byte> into(50'000);
    whole = mds::store_read(store, "changing", 0, into) == 50'000 && whole;
    whole = (into == one || into == two) && whole;
  }
  writer.join();
  CHECK(whole);
}

/// Where a listing tells an object's tag, reads can hold it.
template <mds::object_store S>
void check_tags(const S& store) {
  mds::store_write(store, "tagged", noise(9, 5));
  const mds::object_info listed = mds::store_list(store, "tagged").front();
  const auto version_of = [](const auto& from) {
    return mds::detail::wait_for<mds::object_version>([&](mds::diagnostics& where, auto done) {
      from.async_version("tagged", {}, where, std::move(done));
    });
  };
  mds::object_version found;
  if constexpr (mds::versioned_store<S>) {
    found = version_of(store);
  } else if constexpr (std::derived_from<S, mds::opened_store>) {
    mds::runtime threads;
    found = version_of(store.on(threads));
  } else if constexpr (requires { store.version("tagged"); }) {
    found = store.version("tagged");
  } else {
    CHECK(listed.tag.empty());
    return;
  }
  CHECK(found.bytes == listed.bytes);
  if (!listed.tag.empty()) CHECK(listed.tag == found.tag);
}

/// Every operation by itself. `store` is empty at first.
template <mds::object_store S>
void check_calls(const S& store) {
  CHECK(keys_of(store, "").empty());
  CHECK_FALSE(store.url("").empty());
  check_objects(store);
  check_ranges(store);
  check_listing(store);
  check_tags(store);
  check_absence(store);
  check_keys(store);
}

/// `store` is empty at first.
template <mds::object_store S>
void check_store(const S& store) {
  check_calls(store);
  check_replacing(store);
}

}  // namespace conformance
