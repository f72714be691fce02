#pragma once

#include <string>

namespace support {

/// The path of a file of tests/golden. The path of the clone is compiled into support/main.cpp
/// alone, so that clones share through ccache what else they compile.
std::string golden_file(const std::string& name);

}  // namespace support
