#pragma once

/// What tensors are called, and of which type they are, where they go.

#include <mdstream/checkpoint/checkpoint.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

class renamed_tensors {
 public:
  /// Throws `errc::invalid_argument` where two tensors would have one name, or one that no tensor
  /// may have, and for a `cast` to another type than F16, BF16, F32 and F64.
  renamed_tensors(const checkpoint& from,
                  const std::function<std::string(const std::string&)>& rename,
                  std::optional<tensor_type> cast);

  /// In the order of the checkpoint's.
  [[nodiscard]] const std::vector<tensor_info>& all() const noexcept { return all_; }

  /// `read_options` of what was listed under the new names. Valid as long as this.
  [[nodiscard]] read_options reading(unsigned requests) const;

 private:
  std::vector<tensor_info> all_;
  std::vector<std::pair<std::string, std::string>> stored_;  // by new names, sorted
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/renamed.ipp>
#endif
