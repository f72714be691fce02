// The second one, which also needs the library of a component.
#include <mdstream/core/error.hpp>
#include <mdstream/core/fnv.hpp>
#include <zstd.h>

unsigned compressor_version();

unsigned compressor_version() { return ZSTD_versionNumber(); }
