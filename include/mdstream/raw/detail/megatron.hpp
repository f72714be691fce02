#pragma once

/// Megatron's `.idx`: lengths and places of the sequences of a `.bin`, and the documents that they
/// make.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/raw/format.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw::detail {

inline constexpr std::string_view megatron_mark{"MMIDIDX\0\0", 9};
inline constexpr std::uint64_t megatron_header = 34;

[[noreturn]] void fail_tokens(std::uint64_t byte, std::string what);

/// Where the arrays of an index begin. Precondition: no more than 2^48 of each.
struct megatron_places {
  std::uint64_t lengths, pointers, documents, end;

  megatron_places(std::uint64_t sequences, std::uint64_t bounds);
};

/// Reads the arrays of an index in one pass, in windows of any size. Keeps 4 bytes for each
/// sequence that was read.
class megatron_scan {
 public:
  /// `bounds`: of documents; `object_bytes`: of the `.bin`.
  megatron_scan(std::uint64_t sequences, std::uint64_t bounds, std::uint64_t token_bytes,
                std::optional<std::uint64_t> object_bytes);

  /// Takes a window of the index, the first one from its beginning and each from where the one
  /// before was left, and returns how many of its bytes are done. Calls `use(document, begin,
  /// bytes, first, end)` for each document: its bytes in the `.bin` and its sequences. Throws
  /// errc::corrupt, naming the byte of the index.
  template <class Use>
  [[nodiscard]] std::uint64_t take(const window& in, Use&& use) {
    const std::uint64_t end = in.offset + in.bytes.size();
    if (in.last && end < places_.end)
      fail_tokens(end, "the index is cut short: it says that it has " + std::to_string(sequences_) +
                           " sequences and " + std::to_string(bounds_) + " bounds of documents");
    std::uint64_t at = std::max(in.offset, megatron_header);
    const auto read = [&]<class T>(T, std::uint64_t array_end, auto&& add) {
      for (; at < array_end && end - at >= sizeof(T); at += sizeof(T))
        add(load<T>(in.bytes.data() + (at - in.offset)), at);
      return at >= array_end;
    };
    done_ = read(std::int32_t{}, places_.pointers,
                 [&](auto length, std::uint64_t byte) { add_length(length, byte); }) &&
            read(std::int64_t{}, places_.documents,
                 [&](auto pointer, std::uint64_t byte) { check_pointer(pointer, byte); }) &&
            read(std::int64_t{}, places_.end,
                 [&](auto bound, std::uint64_t byte) { add_bound(bound, byte, use); });
    return at - in.offset;
  }

  /// All arrays were read; nothing of what follows matters.
  [[nodiscard]] bool is_done() const noexcept { return done_; }

 private:
  void add_length(std::int32_t length, std::uint64_t byte);

  /// Sequences lie one behind the other, from the first byte of the `.bin` to its last.
  void check_pointer(std::int64_t pointer, std::uint64_t byte);

  template <class Use>
  void add_bound(std::int64_t bound, std::uint64_t byte, Use& use) {
    const std::uint64_t number = found_bounds_++, first = sequence_;
    const bool is_last = found_bounds_ == bounds_;
    if (bound < 0 || static_cast<std::uint64_t>(bound) < first ||
        static_cast<std::uint64_t>(bound) > sequences_ || (number == 0 && bound != 0) ||
        (is_last && static_cast<std::uint64_t>(bound) != sequences_))
      fail_tokens(byte, "bound " + std::to_string(number) + " of the index's documents is " +
                            std::to_string(bound) + ", but the one before is " +
                            std::to_string(first) + ", and all reach from sequence 0 to " +
                            std::to_string(sequences_));
    std::uint64_t bytes = 0;
    while (sequence_ < static_cast<std::uint64_t>(bound)) bytes += bytes_of(sequence_++);
    if (number > 0) use(number - 1, begin_, bytes, first, sequence_);
    begin_ += bytes;
    if (is_last && object_bytes_ && static_cast<std::uint64_t>(total_) != *object_bytes_)
      fail_tokens(places_.lengths, "the index's sequences have " + std::to_string(total_) +
                                       " bytes, but the .bin has " +
                                       std::to_string(*object_bytes_));
  }

  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t sequence) const;

  std::uint64_t sequences_, bounds_, token_bytes_;
  std::optional<std::uint64_t> object_bytes_;
  megatron_places places_;
  std::vector<std::int32_t> lengths_;
  std::int64_t total_ = 0, expected_ = 0;  // bytes of all lengths; of the sequences with pointers
  std::uint64_t pointers_ = 0, found_bounds_ = 0;
  std::uint64_t sequence_ = 0, begin_ = 0;  // of the next document
  bool done_ = false;
};

/// Documents of an index, of which a part is given.
class megatron_documents {
 public:
  /// `lengths` of the sequences from `first` on, and `bounds` of documents.
  megatron_documents(unaligned_view<std::int32_t> lengths, unaligned_view<std::int64_t> bounds,
                     std::uint64_t first, std::uint64_t token_bytes);

  /// Calls `use(begin, bytes)` for each document: where it begins, counted from the first one's
  /// bytes. Throws errc::corrupt.
  template <class Use>
  void for_each(Use&& use) const {
    std::uint64_t at = 0, sequence = first_;
    for (std::size_t d = 0; d + 1 < bounds_.size(); ++d) {
      const std::int64_t from = bounds_[d], to = bounds_[d + 1];
      if (from < 0 || to < from || static_cast<std::uint64_t>(from) != sequence ||
          static_cast<std::uint64_t>(to) - first_ > lengths_.size())
        throw error(errc::corrupt, "the bounds of document " + std::to_string(d) + ", " +
                                       std::to_string(from) + " and " + std::to_string(to) +
                                       ", are not in their order");
      std::uint64_t bytes = 0;
      for (; sequence < static_cast<std::uint64_t>(to); ++sequence) {
        const std::int32_t length = lengths_[static_cast<std::size_t>(sequence - first_)];
        if (length < 0)
          throw error(errc::corrupt, "sequence " + std::to_string(sequence) + " has the length " +
                                         std::to_string(length));
        bytes += static_cast<std::uint64_t>(length) * token_bytes_;
      }
      use(at, bytes);
      at += bytes;
    }
  }

 private:
  unaligned_view<std::int32_t> lengths_;
  unaligned_view<std::int64_t> bounds_;
  std::uint64_t first_, token_bytes_;
};

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/megatron.ipp>
#endif
