// The first of two translation units that include mdstream.
#include <mdstream/core/error.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/version.hpp>

unsigned compressor_version();

int main() { return compressor_version() > 0 ? 0 : 1; }
