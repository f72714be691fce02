// The border of a trainer: its .cu sees batches and their views, nothing of the loader.
#pragma once

#include <mdstream/batch.hpp>

#include <cstdint>

/// Adds up tokens on the device.
void train_step(mdstream::dense_view<std::uint16_t> tokens, unsigned long long* sum,
                mdstream::stage::stream_handle stream);
