#pragma once

#include <mdstream/raw/detail/megatron.hpp>
#include <mdstream/version.hpp>

#include <utility>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE void fail_tokens(std::uint64_t byte, std::string what) {
  throw error(errc::corrupt, diagnostics{.what = std::move(what), .byte = byte});
}

MDSTREAM_INLINE megatron_places::megatron_places(std::uint64_t sequences, std::uint64_t bounds)
    : lengths(megatron_header),
      pointers(lengths + 4 * sequences),
      documents(pointers + 8 * sequences),
      end(documents + 8 * bounds) {}

MDSTREAM_INLINE megatron_scan::megatron_scan(std::uint64_t sequences, std::uint64_t bounds,
                                             std::uint64_t token_bytes,
                                             std::optional<std::uint64_t> object_bytes)
    : sequences_(sequences),
      bounds_(bounds),
      token_bytes_(token_bytes),
      object_bytes_(object_bytes),
      places_(sequences, bounds) {}

MDSTREAM_INLINE void megatron_scan::add_length(std::int32_t length, std::uint64_t byte) {
  total_ += std::int64_t{length} * static_cast<std::int64_t>(token_bytes_);
  if (length < 0 || total_ > std::int64_t{1} << 60)
    fail_tokens(byte, "sequence " + std::to_string(lengths_.size()) + " has the length " +
                          std::to_string(length));
  lengths_.push_back(length);
}

MDSTREAM_INLINE void megatron_scan::check_pointer(std::int64_t pointer, std::uint64_t byte) {
  if (pointer != expected_)
    fail_tokens(byte, "sequence " + std::to_string(pointers_) + " begins at byte " +
                          std::to_string(pointer) + " of the .bin, but the one before ends at " +
                          std::to_string(expected_));
  expected_ += static_cast<std::int64_t>(bytes_of(pointers_++));
}

MDSTREAM_INLINE std::uint64_t megatron_scan::bytes_of(std::uint64_t sequence) const {
  return static_cast<std::uint64_t>(lengths_[static_cast<std::size_t>(sequence)]) * token_bytes_;
}

MDSTREAM_INLINE megatron_documents::megatron_documents(unaligned_view<std::int32_t> lengths,
                                                       unaligned_view<std::int64_t> bounds,
                                                       std::uint64_t first,
                                                       std::uint64_t token_bytes)
    : lengths_(lengths), bounds_(bounds), first_(first), token_bytes_(token_bytes) {}

}  // namespace mdstream::inline v0::raw::detail
