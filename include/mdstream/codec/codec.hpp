#pragma once

/// Codecs: what turns a raw shard file into the file that is stored and back. A codec is a small
/// value with a level; `any_codec` chooses among several by the name in the index.

#include <mdstream/codec/detail/stream_decoder.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace mdstream::inline v0 {

/// The text `name` or `name:level` of a writer's option and of the index, taken apart.
struct compression_name {
  std::string_view name{};  ///< views the text it was parsed from; empty: not compressed
  std::optional<int> level{};
};

/// Takes "zstd:7" apart. Throws errc::invalid_argument if the level is not a plain decimal number.
///
///     const auto [name, level] = mds::parse_compression("zstd:7");  // "zstd" and 7
[[nodiscard]] compression_name parse_compression(std::string_view text);

/// A codec that can stand in the policies' member `codec`. Values are cheap, immutable and safe
/// from any thread.
///
/// - `C::serves(name)`: whether `name` (without level) is this codec's.
/// - `C::open(text)`: the codec for "zstd:7"; throws errc::invalid_argument or errc::unsupported.
/// - `codec.extension()`: what file names end with, without the point; empty if not compressed.
/// - `codec.compress(raw)`: the whole compressed file.
/// - `codec.decompress(zip, raw, where)`: fills `raw` exactly; what does not fit exactly is
///   errc::corrupt, with `where.what` saying why. Never writes outside `raw`. Throws
///   std::bad_alloc where memory runs out, which tells nothing of the data.
///
///     static_assert(mds::codec_policy<run_length>);  // beside a codec of your own
template <class C>
concept codec_policy =
    std::copyable<C> && requires(const C codec, std::string_view text, bytes_view in,
                                 mutable_bytes out, diagnostics& where) {
      { C::serves(text) } -> std::same_as<bool>;
      { C::open(text) } -> std::same_as<C>;
      { codec.extension() } -> std::convertible_to<std::string_view>;
      { codec.compress(in) } -> std::same_as<std::vector<std::byte>>;
      { codec.decompress(in, out, where) } -> std::same_as<std::error_code>;
    };

/// Takes decompressed bytes in their order, a block at a time.
using block_taker = std::function<void(bytes_view)>;

/// A codec that needs no room for all that it makes: `codec.decompress_blocks(zip, size, take,
/// where)` gives `take` exactly `size` bytes, or fails as `decompress` does, also for want of
/// memory that a frame asks for and that all its bytes at once would not need; what was taken by
/// then may be damaged, and is no more than `size`. What `take` throws ends it.
template <class C>
concept block_codec = codec_policy<C> && requires(const C codec, bytes_view zip, std::size_t size,
                                                  const block_taker& take, diagnostics& where) {
  { codec.decompress_blocks(zip, size, take, where) } -> std::same_as<std::error_code>;
};

/// Calls `use` with the codec, or with the one that was chosen where it is an `any_codec`: only
/// that one tells whether it is a `block_codec`.
template <codec_policy C, class Use>
decltype(auto) with_codec(const C& codec, Use&& use) {
  if constexpr (requires { codec.visit(use); })
    return codec.visit(std::forward<Use>(use));
  else
    return std::forward<Use>(use)(codec);
}

namespace detail {

template <class C>
void add_stream(stream_decoders& out) {
  if constexpr (requires { C::stream(); }) out.push_back(C::stream());
}

/// The level of a codec whose levels run from `least` to `most`.
[[nodiscard]] int checked_level(const compression_name& parsed, int least, int most, int normal);

[[noreturn]] void fail_unknown_codec(std::string_view text, std::string_view served);

/// A codec that stopped because the data do not make `expected` bytes.
[[nodiscard]] std::error_code corrupt_stream(diagnostics& where, std::string what);

[[nodiscard]] std::error_code wrong_raw_size(diagnostics& where, std::string_view codec,
                                             std::string found, std::size_t expected);

}  // namespace detail

/// A codec chosen at run time, by the compression that the index names, among those of the list.
/// An empty text, "not compressed", must be served by one of them (`codec::none`).
///
/// Thread safety: any number of threads may call const members.
///
///     using policies = mds::policies<mds::any_codec<mds::codec::none, mds::codec::zstd>>;
template <codec_policy... Codecs>
  requires(sizeof...(Codecs) > 0)
class any_codec {
 public:
  template <class C>
    requires(std::same_as<C, Codecs> || ...)
  any_codec(C codec) : codec_(std::move(codec)) {}

  [[nodiscard]] static bool serves(std::string_view name) noexcept {
    return (Codecs::serves(name) || ...);
  }

  /// Throws errc::unsupported, naming what the list holds and what to add, if none serves the name.
  [[nodiscard]] static any_codec open(std::string_view text) {
    std::optional<any_codec> found;
    const std::string_view name = text.substr(0, text.find(':'));
    (void)((Codecs::serves(name) && (found.emplace(Codecs::open(text)), true)) || ...);
    if (!found) detail::fail_unknown_codec(text, served());
    return *std::move(found);
  }

  [[nodiscard]] std::string_view extension() const noexcept {
    return std::visit([](const auto& codec) -> std::string_view { return codec.extension(); },
                      codec_);
  }

  [[nodiscard]] std::vector<std::byte> compress(bytes_view raw) const {
    return std::visit([raw](const auto& codec) { return codec.compress(raw); }, codec_);
  }

  [[nodiscard]] std::error_code decompress(bytes_view zip, mutable_bytes raw,
                                           diagnostics& where) const {
    return std::visit([&](const auto& codec) { return codec.decompress(zip, raw, where); }, codec_);
  }

  /// Calls `use` with the codec that was chosen, and returns what it does.
  template <class Use>
  decltype(auto) visit(Use&& use) const {
    return std::visit(std::forward<Use>(use), codec_);
  }

  /// What those of the list decompress piece by piece.
  [[nodiscard]] static detail::stream_decoders streams() {
    detail::stream_decoders out;
    (detail::add_stream<Codecs>(out), ...);
    return out;
  }

  /// The names that the list serves: "zstd, gz".
  [[nodiscard]] static std::string served() {
    std::string out;
    for (const std::string_view name : {"zstd", "gz", "bz2", "br", "snappy"})
      if (serves(name)) out.append(out.empty() ? "" : ", ").append(name);
    return out;
  }

 private:
  std::variant<Codecs...> codec_;
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/codec/detail/impl/codec.ipp>
#endif
