#pragma once

/// The codecs of a program as a value: what its policies' codec serves, opened by name.

#include <mdstream/codec/codec.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>

#include <cstddef>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// A codec that was opened by name. One virtual call a file. Safe from any thread.
class opened_codec {
 public:
  opened_codec() = default;
  opened_codec(const opened_codec&) = delete;
  opened_codec& operator=(const opened_codec&) = delete;
  virtual ~opened_codec() = default;

  [[nodiscard]] virtual std::string_view extension() const = 0;
  [[nodiscard]] virtual std::vector<std::byte> compress(bytes_view raw) const = 0;
  [[nodiscard]] virtual std::error_code decompress(bytes_view zip, mutable_bytes raw,
                                                   diagnostics& where) const = 0;
  /// Decompresses what does not tell its size; null where the codec cannot.
  [[nodiscard]] virtual std::unique_ptr<stream_decoder> open_stream() const = 0;
  /// Whether it is a `block_codec`; `decompress_blocks` of any other is one block of all bytes.
  [[nodiscard]] virtual bool gives_blocks() const = 0;
  [[nodiscard]] virtual std::error_code decompress_blocks(bytes_view zip, std::size_t size,
                                                          const block_taker& take,
                                                          diagnostics& where) const = 0;
};

/// Made from a codec policy; pointers to functions, copied freely.
class codec_set {
 public:
  template <codec_policy C>
  [[nodiscard]] static constexpr codec_set of() noexcept {
    return codec_set([](std::string_view name) { return C::serves(name); },
                     [](std::string_view text) -> std::unique_ptr<const opened_codec> {
                       return std::make_unique<model<C>>(C::open(text));
                     },
                     [] {
                       stream_decoders out;
                       if constexpr (requires { C::streams(); })
                         out = C::streams();
                       else
                         add_stream<C>(out);
                       return out;
                     });
  }

  /// Whether the program has the codec of that name (without level).
  [[nodiscard]] bool serves(std::string_view name) const;
  /// The codec for "zstd:7"; throws errc::invalid_argument or errc::unsupported.
  [[nodiscard]] std::unique_ptr<const opened_codec> open(std::string_view text) const;
  /// What the program decompresses piece by piece.
  [[nodiscard]] stream_decoders streams() const { return streams_(); }

 private:
  using serves_function = bool (*)(std::string_view);
  using open_function = std::unique_ptr<const opened_codec> (*)(std::string_view);
  using streams_function = stream_decoders (*)();

  template <codec_policy C>
  struct model final : opened_codec {
    explicit model(C opened) : codec(std::move(opened)) {}
    [[nodiscard]] std::string_view extension() const override { return codec.extension(); }
    [[nodiscard]] std::vector<std::byte> compress(bytes_view raw) const override {
      return codec.compress(raw);
    }
    [[nodiscard]] std::error_code decompress(bytes_view zip, mutable_bytes raw,
                                             diagnostics& where) const override {
      return codec.decompress(zip, raw, where);
    }
    [[nodiscard]] std::unique_ptr<stream_decoder> open_stream() const override {
      return with_codec(codec, []<class Chosen>(const Chosen&) -> std::unique_ptr<stream_decoder> {
        if constexpr (requires { Chosen::stream(); })
          return Chosen::stream().open();
        else
          return nullptr;
      });
    }
    [[nodiscard]] bool gives_blocks() const override {
      return with_codec(codec, []<class Chosen>(const Chosen&) { return block_codec<Chosen>; });
    }
    [[nodiscard]] std::error_code decompress_blocks(bytes_view zip, std::size_t size,
                                                    const block_taker& take,
                                                    diagnostics& where) const override {
      return with_codec(codec, [&]<class Chosen>(const Chosen& chosen) -> std::error_code {
        if constexpr (block_codec<Chosen>) {
          return chosen.decompress_blocks(zip, size, take, where);
        } else {
          std::vector<std::byte> raw(size);
          const std::error_code code = chosen.decompress(zip, raw, where);
          if (!code) take(raw);
          return code;
        }
      });
    }
    C codec;
  };

  constexpr codec_set(serves_function known, open_function opener,
                      streams_function decoders) noexcept
      : serves_(known), open_(opener), streams_(decoders) {}

  serves_function serves_;
  open_function open_;
  streams_function streams_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/codec/detail/impl/codec_set.ipp>
#endif
