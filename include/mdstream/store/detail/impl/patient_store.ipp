#pragma once

#include <mdstream/store/detail/patient_store.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE patient_store::patient_store(opened_store store, retry_policy policy,
                                             shared_retry_budget budget)
    : shared_(std::make_shared<shared>(std::move(store), policy, std::move(budget))) {}

MDSTREAM_INLINE std::uint64_t patient_store::size(std::string_view key) const {
  return again([&](const opened_store& store) { return store.size(key); });
}

MDSTREAM_INLINE std::size_t patient_store::read(std::string_view key, std::uint64_t offset,
                                                mutable_bytes into) const {
  return again([&](const opened_store& store) { return store.read(key, offset, into); });
}

MDSTREAM_INLINE void patient_store::write(std::string_view key, bytes_view bytes) const {
  again([&](const opened_store& store) { store.write(key, bytes); });
}

MDSTREAM_INLINE void patient_store::publish(std::string_view key, bytes_view bytes) const {
  again([&](const opened_store& store) { store.publish(key, bytes); });
}

MDSTREAM_INLINE std::vector<object_info> patient_store::list(std::string_view prefix) const {
  return again([&](const opened_store& store) { return store.list(prefix); });
}

MDSTREAM_INLINE void patient_store::remove(std::string_view key) const {
  again([&](const opened_store& store) { store.remove(key); });
}

MDSTREAM_INLINE void patient_store::stop() const {
  const std::lock_guard lock(shared_->mutex);
  shared_->stopped = true;
  shared_->changed.notify_all();
}

MDSTREAM_INLINE bool patient_store::shared::wait(std::chrono::nanoseconds pause) {
  std::unique_lock lock(mutex);
  return !changed.wait_for(lock, pause, [this] { return stopped; });
}

}  // namespace mdstream::inline v0::detail
