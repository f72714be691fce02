#pragma once

#include <mdstream/checkpoint/detail/saving.hpp>
#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/version.hpp>

#include <utility>

namespace mdstream::inline v0 {

MDSTREAM_INLINE checkpoint_saver::checkpoint_saver(saver_options options)
    : saving_(detail::make_where_made<detail::saving>(std::move(options))) {}

MDSTREAM_INLINE checkpoint_saver::checkpoint_saver(checkpoint_saver&&) noexcept = default;
MDSTREAM_INLINE checkpoint_saver& checkpoint_saver::operator=(checkpoint_saver&&) noexcept =
    default;
MDSTREAM_INLINE checkpoint_saver::~checkpoint_saver() = default;

MDSTREAM_INLINE std::optional<checkpoint> checkpoint_saver::resume_point() {
  return here().resume_point();
}

MDSTREAM_INLINE std::string checkpoint_saver::own_of(const checkpoint& from) const {
  return here().own_of(from);
}

MDSTREAM_INLINE void checkpoint_saver::save(std::uint64_t step, const tensor_list& tensors,
                                            save_options what, stage::stream_handle stream) {
  here().save(step, tensors, std::move(what), stream);
}

MDSTREAM_INLINE void checkpoint_saver::wait_snapshot() { here().wait_snapshot(); }
MDSTREAM_INLINE void checkpoint_saver::wait_snapshot(stage::stream_handle stream) {
  here().wait_snapshot(stream);
}
MDSTREAM_INLINE void checkpoint_saver::finish() { here().finish(); }
MDSTREAM_INLINE std::uint64_t checkpoint_saver::repeated_requests() const {
  return here().repeated();
}

MDSTREAM_INLINE detail::saving& checkpoint_saver::here() const {
  saving_.get_deleter().made.require_here("checkpoint_saver");
  return *saving_;
}

}  // namespace mdstream::inline v0
