#pragma once

/// Views over bytes whose alignment nobody promised, and the little-endian loads and stores that
/// every format of this library is made of.

#include <mdstream/core/detail/view_iterator.hpp>
#include <mdstream/version.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace mdstream::inline v0 {

/// Bytes to be read, owned by someone else.
using bytes_view = std::span<const std::byte>;
/// Memory to be written to, owned by someone else.
using mutable_bytes = std::span<std::byte>;

static_assert(std::endian::native == std::endian::little,
              "the formats are little-endian and are read without swapping");

/// Reads a `T` at `at`, which need not be aligned.
/// Precondition: `sizeof(T)` bytes are readable.
template <class T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] T load(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

/// Writes `value` to `at`, which need not be aligned.
/// Precondition: `sizeof(T)` bytes are writable.
template <class T>
  requires std::is_trivially_copyable_v<T>
void store_to(std::byte* at, const T& value) noexcept {
  std::memcpy(at, &value, sizeof(T));
}

/// The bytes of a text, which they do not own.
///
///     store.write("notes.txt", mds::as_bytes("a line\n"));
[[nodiscard]] inline bytes_view as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Bytes as a text, which does not own them; not checked to be UTF-8.
///
///     const std::vector<std::byte> file = mds::read_all(store, "notes.txt");
///     const std::string_view text = mds::as_text(file);  // valid as long as `file`
[[nodiscard]] inline std::string_view as_text(bytes_view bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Hints that these bytes are read soon: asks for their first cache lines. The hardware follows by
/// itself after a few.
inline void prefetch_lines(bytes_view bytes) noexcept {
  constexpr std::size_t line = 64, most = 4 * line;
  if (bytes.empty()) return;
  const std::size_t end = bytes.size() < most ? bytes.size() : most;
  for (std::size_t at = 0; at < end; at += line) __builtin_prefetch(bytes.data() + at);
  __builtin_prefetch(bytes.data() + end - 1);  // bytes of no alignment reach into one line more
}

/// A read-only sequence of `T` in memory of any alignment. Elements come by value, through memcpy.
/// Owns nothing: valid as long as the bytes are.
///
///     const auto tokens = sample.get<mds::unaligned_view<std::uint16_t>>("tokens");
///     for (const std::uint16_t token : tokens) ++seen[token];
template <class T>
  requires std::is_trivially_copyable_v<T>
class unaligned_view {
 public:
  using iterator = detail::view_iterator<unaligned_view>;

  unaligned_view() = default;
  /// Views the whole elements of `bytes`; a rest shorter than one element is left out.
  explicit unaligned_view(bytes_view bytes) noexcept
      : data_(bytes.data()), size_(bytes.size() / sizeof(T)) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] T operator[](std::size_t i) const noexcept {
    return load<T>(data_ + i * sizeof(T));
  }
  [[nodiscard]] bytes_view bytes() const noexcept { return {data_, size_ * sizeof(T)}; }
  [[nodiscard]] iterator begin() const noexcept { return {*this, 0}; }
  [[nodiscard]] iterator end() const noexcept { return {*this, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace mdstream::inline v0
/// @cond
// As of <span>: copies are cheap, and iterators outlive the view that gave them.
template <class T>
inline constexpr bool std::ranges::enable_view<mdstream::unaligned_view<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<mdstream::unaligned_view<T>> = true;
/// @endcond
