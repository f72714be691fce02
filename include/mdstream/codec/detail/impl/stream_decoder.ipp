#pragma once

#include <mdstream/codec/detail/stream_decoder.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <string>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE const stream_decoder_choice* decoder_choice(const stream_decoders& known,
                                                            std::string_view key) {
  for (const stream_decoder_choice& each : known)
    if (key.ends_with(each.extension)) return &each;
  return nullptr;
}

MDSTREAM_INLINE std::unique_ptr<stream_decoder> open_decoder(const stream_decoders& known,
                                                             std::string_view key) {
  if (const stream_decoder_choice* found = decoder_choice(known, key)) return found->open();
  for (const auto& [extension, name] :
       {std::pair<std::string_view, std::string_view>{".gz", "gz"}, {".zst", "zstd"}})
    if (key.ends_with(extension))
      throw error(errc::unsupported,
                  diagnostics{.what = "the object is compressed, and this program does not name "
                                      "mdstream::codec::" +
                                      std::string(name) + " among its codecs",
                              .url = std::string(key)});
  return nullptr;
}

MDSTREAM_INLINE bool can_enter(const stream_decoders& known, std::string_view key) {
  const stream_decoder_choice* found = decoder_choice(known, key);
  return found != nullptr && found->enter != nullptr;
}

MDSTREAM_INLINE std::unique_ptr<stream_decoder> enter_decoder(const stream_decoders& known,
                                                              std::string_view key,
                                                              const entry_point& at) {
  if (!can_enter(known, key))
    throw error(errc::corrupt, "there is an entry point for data that cannot be entered");
  return decoder_choice(known, key)->enter(at);
}

}  // namespace mdstream::inline v0::detail
