#pragma once

#include <mdstream/codec/br.hpp>
#include <mdstream/version.hpp>

#include <memory>
#include <new>

namespace mdstream::inline v0::codec {

MDSTREAM_INLINE br::br(int level) : level_(level) {}

MDSTREAM_INLINE bool br::serves(std::string_view name) noexcept { return name == "br"; }

MDSTREAM_INLINE br br::open(std::string_view text) {
  const compression_name parsed = parse_compression(text);
  if (!serves(parsed.name)) detail::fail_unknown_codec(text, "br");
  return br(detail::checked_level(parsed, 0, 11, 11));
}

MDSTREAM_INLINE int br::level() const noexcept { return level_; }

MDSTREAM_INLINE std::vector<std::byte> br::compress(bytes_view raw) const {
  std::vector<std::byte> zip(BrotliEncoderMaxCompressedSize(raw.size()));
  std::size_t size = zip.size();
  if (BrotliEncoderCompress(level_, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC, raw.size(),
                            octets(raw.data()), &size,
                            reinterpret_cast<std::uint8_t*>(zip.data())) != BROTLI_TRUE)
    throw std::bad_alloc();
  zip.resize(size);
  return zip;
}

MDSTREAM_INLINE std::error_code br::decompress(bytes_view zip, mutable_bytes raw,
                                               diagnostics& where) const {
  const std::unique_ptr<BrotliDecoderState, release> state(
      BrotliDecoderCreateInstance(nullptr, nullptr, nullptr));
  if (state == nullptr) throw std::bad_alloc();
  std::byte none{};
  std::size_t zip_left = zip.size(), raw_left = raw.size(), size = 0;
  const std::uint8_t* in = octets(zip.data());
  auto* out = reinterpret_cast<std::uint8_t*>(raw.empty() ? &none : raw.data());
  const BrotliDecoderResult result =
      BrotliDecoderDecompressStream(state.get(), &zip_left, &in, &raw_left, &out, &size);
  if (result == BROTLI_DECODER_RESULT_ERROR && is_out_of_memory(*state)) throw std::bad_alloc();
  if (result != BROTLI_DECODER_RESULT_SUCCESS)
    return detail::corrupt_stream(where,
                                  "the Brotli data are damaged, cut short, or hold more than the " +
                                      std::to_string(raw.size()) + " bytes that the index says");
  if (size != raw.size())
    return detail::wrong_raw_size(where, "Brotli", std::to_string(size), raw.size());
  return {};
}

MDSTREAM_INLINE void br::release::operator()(BrotliDecoderState* state) const noexcept {
  BrotliDecoderDestroyInstance(state);
}

MDSTREAM_INLINE bool br::is_out_of_memory(const BrotliDecoderState& state) noexcept {
  const BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(&state);
  return code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
         code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
}

MDSTREAM_INLINE const std::uint8_t* br::octets(const std::byte* bytes) noexcept {
  return reinterpret_cast<const std::uint8_t*>(bytes);
}

}  // namespace mdstream::inline v0::codec
