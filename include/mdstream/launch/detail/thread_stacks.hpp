#pragma once

/// The stacks of all threads, for the log of a process that is about to end.

#include <chrono>
#include <string_view>

namespace mdstream::inline v0::launch::detail {

/// Writes all of it to a descriptor, where that takes it.
void write_text(int descriptor, std::string_view text) noexcept;

/// Loads what writing a stack needs, which the handler of a signal may not.
void prepare_stacks();

/// Writes name, state and stack of each thread to a descriptor. A thread writes its own stack, in a
/// handler of SIGURG, which this takes for good. One that does not, because it blocks the signal or
/// hangs in the kernel, is passed over after three seconds, or sooner if many do: in all this waits
/// `most`. Names of functions need `-rdynamic`; without, `addr2line` turns the offsets into lines.
/// One at a time.
void write_stacks(int descriptor, std::chrono::nanoseconds most);

}  // namespace mdstream::inline v0::launch::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/launch/detail/impl/thread_stacks.ipp>
#endif
