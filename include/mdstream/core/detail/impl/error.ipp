#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <new>

namespace mdstream::inline v0 {

MDSTREAM_INLINE const std::error_category& mdstream_category() noexcept {
  static const struct category final : std::error_category {
    [[nodiscard]] const char* name() const noexcept override { return "mdstream"; }
    [[nodiscard]] std::string message(int value) const override {
      return std::string(to_string(static_cast<errc>(value)));
    }
  } instance;
  return instance;
}

MDSTREAM_INLINE std::string diagnostics::where() const {
  std::string out;
  const auto add = [&out](std::string part) {
    if (!out.empty()) out += ", ";
    out += std::move(part);
  };
  if (!stream.empty()) add("stream \"" + stream + '"');
  if (shard) add("shard " + std::to_string(*shard));
  if (sample) add("sample " + std::to_string(*sample));
  if (!column.empty()) add("column \"" + column + '"');
  if (!url.empty()) add(url);
  if (byte) add("byte " + std::to_string(*byte));
  return out;
}

MDSTREAM_INLINE error::error(std::error_code code, diagnostics where)
    : code_(code), diagnostics_(std::move(where)), text_(describe(code_, diagnostics_)) {}

MDSTREAM_INLINE std::string error::describe(const std::error_code& code, const diagnostics& d) {
  std::string out = d.what.empty() ? code.message() : d.what;
  if (const std::string place = d.where(); !place.empty()) out += " (" + place + ')';
  if (!d.cause.empty()) out += "\n  because: " + d.cause;
  return out;
}

MDSTREAM_INLINE std::error_code code_of(const std::exception_ptr& failure) noexcept {
  if (!failure) return {};
  try {
    std::rethrow_exception(failure);
  } catch (const error& e) {
    return e.code();
  } catch (const std::system_error& e) {
    return e.code();
  } catch (const std::bad_alloc&) {
    return make_error_code(errc::out_of_memory);
  } catch (...) {
    return make_error_code(errc::io_error);
  }
}

MDSTREAM_INLINE errc errc_from_errno(int value) noexcept {
  if (value == EDQUOT) return errc::no_space;  // which std::errc has no name for
  switch (static_cast<std::errc>(value)) {
    case std::errc::no_such_file_or_directory:
    case std::errc::not_a_directory: return errc::not_found;
    case std::errc::permission_denied:
    case std::errc::operation_not_permitted:
    case std::errc::read_only_file_system: return errc::permission_denied;
    case std::errc::no_space_on_device: return errc::no_space;
    case std::errc::not_enough_memory: return errc::out_of_memory;
    case std::errc::too_many_files_open:
    case std::errc::too_many_files_open_in_system: return errc::unavailable;
    default: return errc::io_error;
  }
}

MDSTREAM_INLINE error system_failure(int value, std::string what, std::string url) {
  return {errc_from_errno(value), diagnostics{.what = std::move(what),
                                              .url = std::move(url),
                                              .cause = std::generic_category().message(value)}};
}

}  // namespace mdstream::inline v0
