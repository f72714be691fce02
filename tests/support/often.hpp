#pragma once

// What most tests include, for their precompiled header (tests/CMakeLists.txt). No file includes
// this one.
#include <mdstream/mdstream.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>
