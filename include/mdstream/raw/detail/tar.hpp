#pragma once

/// Members of tar archives: ustar (POSIX.1-1988), pax (POSIX.1-2001), GNU and V7.

#include <mdstream/raw/format.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::raw::detail {

inline constexpr std::uint64_t tar_block = 512;

/// One member. Offsets are the object's.
struct tar_member {
  std::string name{};
  std::uint64_t begin = 0;  ///< of its first header, which may be one that extends the others
  std::uint64_t data = 0;
  std::uint64_t size = 0;
  std::uint64_t end = 0;  ///< of its data, and what fills up the last block
  bool is_file = false;   ///< a regular file
  bool is_end = false;    ///< no member, but the archive's end
};

class tar_reader {
 public:
  /// The member whose headers begin at byte `at` of the window; nothing if the window ends within
  /// them. Throws errc::corrupt or errc::unsupported, naming the byte of the object.
  [[nodiscard]] static std::optional<tar_member> read(const window& in, std::uint64_t at);

 private:
  static constexpr std::uint64_t most_header_bytes = std::uint64_t{1} << 20;

  tar_reader(const window& in, std::uint64_t at) : in_(in), at_(at) {
    member_.begin = in.offset + at;
  }

  std::optional<tar_member> read();

  std::optional<tar_member> finish(const std::byte* header, char type, std::uint64_t size);

  std::optional<tar_member> end();

  std::optional<tar_member> short_of(const char* what) const;

  /// The sum of the header's bytes, with spaces for the sum itself; old writers took them as
  /// signed.
  void check_sum(const std::byte* header) const;

  /// Octal digits with spaces or zeros around, or GNU's base 256.
  [[nodiscard]] std::uint64_t number(const std::byte* at, std::size_t count,
                                     const char* what) const;

  /// Records "length key=value\n".
  void read_pax(std::string_view text);

  [[noreturn]] void fail(std::uint64_t byte, std::string what) const;
  [[noreturn]] void refuse(std::string what) const;

  const window& in_;
  std::uint64_t at_;
  tar_member member_;
  std::string long_name_, pax_path_;
  std::optional<std::uint64_t> pax_size_;
  bool is_sparse_ = false;
};

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/tar.ipp>
#endif
