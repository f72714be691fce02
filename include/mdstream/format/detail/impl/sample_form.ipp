#pragma once

#include <mdstream/format/detail/row_to_mds.hpp>
#include <mdstream/format/detail/sample_form.hpp>
#include <mdstream/version.hpp>

#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE sample_form::sample_form(const shard_config& config)
    : config_(&config), is_row_(config.layout.format() != shard_format::mds) {
  if (is_row_) all_ = selected_ = mds_form(config.layout);
}

MDSTREAM_INLINE void sample_form::select(const sample_layout& wanted) {
  column_picks picks(is_row_ ? all_ : config_->layout, wanted);
  if (is_row_ || !picks.takes_all()) selected_ = wanted;
  picks_ = std::move(picks);
}

MDSTREAM_INLINE void sample_form::check(bytes_view stored) const {
  if (!is_row_) config_->layout.check(stored);
}

MDSTREAM_INLINE void sample_form::append(bytes_view stored, std::vector<std::byte>& out) const {
  if (is_row_)
    append_row_as_mds(*config_, selected_, stored, out);
  else if (as_stored())
    out.insert(out.end(), stored.begin(), stored.end());
  else
    picks_.append(config_->layout, selected_, stored, out);
}

}  // namespace mdstream::inline v0::detail
