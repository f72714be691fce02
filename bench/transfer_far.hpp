#pragma once

#include <string>

namespace bench {

/// A server 100 ms away, on a line that loses one packet of a hundred. `s5cmd`: its path, or empty.
void run_far(const std::string& scratch, const std::string& s5cmd);

}  // namespace bench
