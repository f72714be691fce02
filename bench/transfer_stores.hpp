#pragma once

#include <string>

namespace bench {

/// The case of every kind of store before one server; `scratch` is a directory for its files.
void run_stores(const std::string& scratch);

}  // namespace bench
