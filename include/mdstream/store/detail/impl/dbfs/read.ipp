#pragma once

#include <mdstream/store/detail/dbfs/read.hpp>
#include <mdstream/store/detail/http_range.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstring>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE dbfs_read::dbfs_read(cloud_client client, const dbfs_api& api, std::string key,
                                     std::uint64_t offset, mutable_bytes into,
                                     std::optional<object_version> held, std::stop_token stop,
                                     diagnostics& where, store_handler<std::size_t> done)
    : client_(std::move(client)),
      api_(api),
      key_(std::move(key)),
      offset_(offset),
      into_(into),
      held_(std::move(held)),
      given_(held_.has_value()),
      stop_(std::move(stop)),
      where_(where),
      done_(std::move(done)) {}

MDSTREAM_INLINE void dbfs_read::begin() {
  if (held_) return start_blocks();
  if (into_.size() <= dbfs_api::block_bytes) return start_blocks();
  look([](dbfs_read& self, object_version found) {
    self.held_ = std::move(found);
    self.start_blocks();
  });
}

MDSTREAM_INLINE void dbfs_read::start_blocks() {
  if (held_) {
    const std::uint64_t left = held_->bytes - std::min(offset_, held_->bytes);
    into_ = into_.first(static_cast<std::size_t>(std::min<std::uint64_t>(into_.size(), left)));
  }
  got_.resize((into_.size() + dbfs_api::block_bytes - 1) / dbfs_api::block_bytes);
  if (got_.empty()) return finish();
  constexpr std::size_t most_at_once = 4;
  for (std::size_t i = 0; i < std::min(most_at_once, got_.size()); ++i) next_block();
}

MDSTREAM_INLINE mutable_bytes dbfs_read::room(std::size_t block) const {
  const std::size_t begin = block * dbfs_api::block_bytes;
  return into_.subspan(begin, std::min<std::size_t>(dbfs_api::block_bytes, into_.size() - begin));
}

MDSTREAM_INLINE void dbfs_read::next_block() {
  std::size_t block = 0;
  {
    const std::lock_guard lock(mutex_);
    if (failure_ || next_ == got_.size()) return;
    block = next_++;
    ++under_way_;
  }
  const auto about = std::make_shared<diagnostics>();
  client_.async_send(
      api_.block(key_, offset_ + block * dbfs_api::block_bytes, room(block).size()), stop_, *about,
      [self = shared_from_this(), block, about](std::error_code code, net::http_response answer) {
        // On the pool: decoding a block takes milliseconds.
        self->client_.threads().post([self, block, about, code, answer = std::move(answer)] {
          self->take(block, code, std::move(*about), answer);
        });
      });
}

MDSTREAM_INLINE void dbfs_read::take(std::size_t block, std::error_code code, diagnostics about,
                                     const net::http_response& answer) {
  try {
    if (!code) {
      const mutable_bytes to = room(block);
      const std::vector<std::byte> bytes = dbfs_api::read_block(answer, to.size());
      if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
      got_[block] = bytes.size();
    }
  } catch (const error& e) {
    code = e.code();
    about = e.where();
    about.url = api_.url(key_);
  }
  bool all_over = false;
  {
    const std::lock_guard lock(mutex_);
    if (code && !failure_) {
      failure_ = code;
      failure_where_ = std::move(about);
    }
    --under_way_;
    all_over = under_way_ == 0 && (failure_ || next_ == got_.size());
  }
  if (!all_over) return next_block();
  if (!failure_) return finish();
  where_ = failure_where_;
  done_(failure_, 0);
}

MDSTREAM_INLINE void dbfs_read::finish() {
  if (!held_) return done_({}, got_.empty() ? 0 : got_.front());
  look([](dbfs_read& self, const object_version& found) {
    std::uint64_t total = 0;
    for (const std::size_t each : self.got_) total += each;
    // A version without a tag is any of that size.
    const bool same = found.bytes == self.held_->bytes &&
                      (self.held_->tag.empty() || found.tag == self.held_->tag);
    if (same && total == self.into_.size()) return self.done_({}, total);
    self.where_ = {.url = self.api_.url(self.key_)};
    if (self.given_ && !same) {
      return self.done_(mdstream::detail::tell_of_change(self.where_), 0);
    }
    // Of the version wanted, or of one that nobody held, the next read may bring all.
    self.where_.what = "the file changed while it was read";
    self.done_(self.given_ ? errc::corrupt : errc::unavailable, 0);
  });
}

}  // namespace mdstream::inline v0::detail
