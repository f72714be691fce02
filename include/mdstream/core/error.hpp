#pragma once

/// The error type of the library: a code to branch on, the place where it happened, and its cause.

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace mdstream::inline v0 {

/// What went wrong, for a program to branch on. The text for people is in `diagnostics`.
enum class errc {
  end_of_epoch = 1,   ///< nothing is wrong: the epoch has no further batch
  canceled,           ///< the caller cancelled the operation
  invalid_argument,   ///< an option or argument that is wrong for any data
  not_found,          ///< the object, directory or column does not exist
  out_of_range,       ///< an index beyond the end
  corrupt,            ///< bytes that are not valid, or differ from the index or their checksum
  schema_mismatch,    ///< the dataset's columns differ from the program's schema
  unsupported,        ///< well-formed, but this build cannot read or write it
  state_mismatch,     ///< a saved state of another dataset, mix or order
  cache_too_small,    ///< the cache limit cannot hold what one batch needs
  no_space,           ///< the disk or its owner's quota is full
  permission_denied,  ///< the store or file system refuses
  io_error,           ///< the store or file system failed; a retry may not help
  unavailable,        ///< a transient error of the store; a retry may help
  transform_failed,   ///< the program's own transform threw something else than `mdstream::error`
                      ///< and `std::bad_alloc`, or vetoed all samples of an epoch
  device_error,       ///< a GPU, its driver or its memory failed, or there is no GPU
  superseded,         ///< a later start of the same job has taken over; this one may save no more
  out_of_memory,  ///< the process or the machine has no memory left for it; the data may be good
};

}  // namespace mdstream::inline v0

template <>
struct std::is_error_code_enum<mdstream::errc> : std::true_type {};

namespace mdstream::inline v0 {

/// The code in words: "not found".
[[nodiscard]] constexpr std::string_view to_string(errc code) noexcept {
  switch (code) {
    case errc::end_of_epoch: return "end of epoch";
    case errc::canceled: return "canceled";
    case errc::invalid_argument: return "invalid argument";
    case errc::not_found: return "not found";
    case errc::out_of_range: return "out of range";
    case errc::corrupt: return "corrupt data";
    case errc::schema_mismatch: return "schema mismatch";
    case errc::unsupported: return "unsupported";
    case errc::state_mismatch: return "state mismatch";
    case errc::cache_too_small: return "cache limit too small";
    case errc::no_space: return "no space left";
    case errc::permission_denied: return "permission denied";
    case errc::io_error: return "input/output error";
    case errc::unavailable: return "temporarily unavailable";
    case errc::transform_failed: return "transform failed";
    case errc::device_error: return "device error";
    case errc::superseded: return "superseded by a later start";
    case errc::out_of_memory: return "out of memory";
  }
  return "unknown error";
}

/// The category of the library's error codes.
[[nodiscard]] const std::error_category& mdstream_category() noexcept;

/// An `errc` as a std::error_code of `mdstream_category()`.
[[nodiscard]] inline std::error_code make_error_code(errc code) noexcept {
  return {static_cast<int>(code), mdstream_category()};
}

/// Where and why an operation failed. Each layer adds what it knows; the rest stays empty. Texts
/// never contain a secret or a signed query.
///
///     try {
///       use(data[17]);
///     } catch (const mds::error& e) {
///       if (e.where().shard) use(e.where().stream, *e.where().shard);
///     }
struct diagnostics {
  std::string what{};    ///< what failed and why, as a clause: "offsets run backwards"
  std::string stream{};  ///< the stream's name as the user gave it, or its remote
  std::string url{};     ///< path or URL of the object
  std::string column{};
  std::optional<std::uint64_t> shard{};   ///< number of the shard within its stream
  std::optional<std::uint64_t> sample{};  ///< number of the sample within its shard
  std::optional<std::uint64_t> byte{};    ///< offset within the object
  std::string cause{};                    ///< text of the layers below, one line for each
  std::optional<std::chrono::milliseconds> retry_after{};  ///< the pause that the store asks for
  /// Retrying this call does not help: the object has changed meanwhile, or the call has already
  /// retried its own requests. The caller may start the whole operation again.
  bool is_final = false;

  /// The place in one phrase, `stream "c4", shard 3, sample 17, /data/shard.00003.mds, byte 72`;
  /// empty when nothing is known.
  [[nodiscard]] std::string where() const;
};

/// The exception of this library. `what()` is `what failed (where)`, then one line for each cause.
///
///     try {
///       train();
///     } catch (const mds::error& e) {
///       std::cerr << e.what() << '\n';
///       if (e.code() == mds::errc::corrupt) use(e.where().url);
///     }
class error : public std::exception {
 public:
  error(errc code, diagnostics where) : error(make_error_code(code), std::move(where)) {}
  error(errc code, std::string what) : error(code, diagnostics{.what = std::move(what)}) {}
  error(std::error_code code, diagnostics where);

  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] const std::error_code& code() const noexcept { return code_; }
  [[nodiscard]] const diagnostics& where() const noexcept { return diagnostics_; }

 private:
  static std::string describe(const std::error_code& code, const diagnostics& d);

  std::error_code code_;
  diagnostics diagnostics_;
  std::string text_;
};

/// The code of an exception of any kind: that of `mdstream::error` and `std::system_error` as it
/// is, `errc::out_of_memory` for `std::bad_alloc`, `errc::io_error` for all others. For null, a
/// code without an error.
///
///     if (mds::code_of(failure) == mds::errc::superseded) use("a later start has taken over");
[[nodiscard]] std::error_code code_of(const std::exception_ptr& failure) noexcept;

namespace detail {

/// `mdstream::error` as an exception that is not thrown, or the std::bad_alloc of making it.
template <class... Args>
[[nodiscard]] std::exception_ptr exception_of(Args&&... args) noexcept {
  try {
    return std::make_exception_ptr(error(std::forward<Args>(args)...));
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace detail

/// Maps what the operating system reported (an `errno` value) to the library's codes.
[[nodiscard]] errc errc_from_errno(int value) noexcept;

/// An error for a failed system call: `what` names the step ("cannot open"), `url` the object,
/// `value` is errno.
[[nodiscard]] error system_failure(int value, std::string what, std::string url);

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/error.ipp>
#endif
