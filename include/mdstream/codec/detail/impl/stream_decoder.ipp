#pragma once

#include <mdstream/codec/detail/stream_decoder.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <string>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::unique_ptr<stream_decoder> open_decoder(const stream_decoders& known,
                                                             std::string_view key) {
  for (const stream_decoder_choice& each : known)
    if (key.ends_with(each.extension)) return each.open();
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

}  // namespace mdstream::inline v0::detail
