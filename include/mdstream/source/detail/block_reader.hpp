#pragma once

/// Reads an object from front to back, the next block while the one before is looked at.

#include <mdstream/async/detail/event.hpp>
#include <mdstream/raw/detail/row_index.hpp>
#include <mdstream/store/opened_store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <system_error>
#include <vector>

namespace mdstream::inline v0::detail {

/// Reads one version of an object. Blocks grow from what is asked for to 4 MiB, so that a
/// reader of a header reads little. Not for two threads at once.
class block_reader {
 public:
  static constexpr std::uint64_t most_bytes = std::uint64_t{4} << 20;

  /// `ahead_until`: bytes from there on are read only when they are asked for.
  block_reader(any_async_store store, raw::detail::listed_object object, std::uint64_t ahead_until,
               std::stop_token stop);
  block_reader(const block_reader&) = delete;
  block_reader& operator=(const block_reader&) = delete;
  ~block_reader() {
    if (ahead_) ahead_->done.wait();
  }

  [[nodiscard]] const raw::detail::listed_object& object() const noexcept { return object_; }
  /// Bytes that were read so far.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_read_; }

  /// Bytes from `offset` on: at least one and about `wanted`, none at the object's end. Valid until
  /// the next call. Throws what the store says, errc::corrupt where the object is another by now.
  [[nodiscard]] bytes_view read(std::uint64_t offset, std::uint64_t wanted);

 private:
  struct call {
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes{};
    std::size_t got = 0;
    std::error_code failure{};
    diagnostics where{};
    one_time_event done{};
  };

  [[nodiscard]] std::unique_ptr<call> start(std::uint64_t offset, std::uint64_t count);

  void finish(call& one) const;

  const any_async_store store_;
  const raw::detail::listed_object object_;
  const std::uint64_t ahead_until_;
  const std::stop_token stop_;
  std::uint64_t next_ = 0;
  std::uint64_t block_ = 0;
  std::uint64_t bytes_read_ = 0;
  std::unique_ptr<call> ahead_;
  std::vector<std::byte> now_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/source/detail/impl/block_reader.ipp>
#endif
