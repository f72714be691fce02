#pragma once

/// JSON as Python's json module reads and writes it: NaN and Infinity, integers of any size, the
/// last of equal keys counts; output equal to json.dumps to the byte.
///
/// - `json::reader`: pulls tokens out of a text with no tree in between.
/// - `json::value`, `json::parse`: a small tree.
/// - `json::dump` and the `append_` functions: text.

#include <mdstream/core/json/reader.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/core/json/writer.hpp>
