#pragma once

#include <mdstream/checkpoint/detail/cast.hpp>
#include <mdstream/checkpoint/detail/renamed.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE renamed_tensors::renamed_tensors(
    const checkpoint& from, const std::function<std::string(const std::string&)>& rename,
    std::optional<tensor_type> cast) {
  if (cast && find_cast(tensor_type::f32, *cast).run == nullptr)
    throw error(errc::invalid_argument, "tensors can be cast to F16, BF16, F32 and F64, not to " +
                                            std::string(to_string(*cast)));
  all_ = from.tensors();
  for (tensor_info& each : all_) {
    std::string name = rename ? rename(each.name) : each.name;
    require_tensor_name(name);
    stored_.emplace_back(name, each.name);
    each.name = std::move(name);
    if (cast && find_cast(each.type, *cast).run != nullptr) each.type = *cast;
  }
  std::sort(stored_.begin(), stored_.end());
  const auto twice =
      std::adjacent_find(stored_.begin(), stored_.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != stored_.end())
    throw error(errc::invalid_argument, "two tensors would be named \"" + twice->first + '"');
}

MDSTREAM_INLINE read_options renamed_tensors::reading(unsigned requests) const {
  return {.check_all = true,
          .requests = requests,
          .rename =
              [this](const std::string& name) {
                return std::lower_bound(stored_.begin(), stored_.end(),
                                        std::pair<std::string, std::string>(name, {}))
                    ->second;
              },
          .cast = true};
}

}  // namespace mdstream::inline v0::detail
