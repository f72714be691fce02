#pragma once

#include <string>

namespace bench {

/// The case of a server that refuses for a while; `scratch` is a directory for its files.
void run_burst(const std::string& scratch);

}  // namespace bench
