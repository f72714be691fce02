#pragma once

/// The version of mdstream. CMake, the package files and the command line read it from here.

#define MDSTREAM_VERSION_MAJOR 0
#define MDSTREAM_VERSION_MINOR 1
#define MDSTREAM_VERSION_PATCH 0

#if !defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__)) || __SIZEOF_POINTER__ != 8
#error "mdstream supports 64-bit Linux on x86-64 and aarch64"
#endif

// Functions that are not templates lie in .ipp files: inline by default; with
// MDSTREAM_SEPARATE_COMPILATION compiled once, by <mdstream/src.hpp>.
#ifdef MDSTREAM_SEPARATE_COMPILATION
#define MDSTREAM_INLINE
#else
#define MDSTREAM_INLINE inline
#endif

/// Everything lives in `mdstream::inline v0`: two binaries that were built against releases of
/// different ABI versions link into one program without sharing a type by accident.
namespace mdstream::inline v0 {
/// A version of the library; `version` is this one.
struct version_number {
  int major, minor, patch;
};

inline constexpr version_number version{MDSTREAM_VERSION_MAJOR, MDSTREAM_VERSION_MINOR,
                                        MDSTREAM_VERSION_PATCH};
}  // namespace mdstream::inline v0
