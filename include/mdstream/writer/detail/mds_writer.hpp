#pragma once

/// What a writer of MDS datasets does that does not depend on the types of its columns.

#include <mdstream/core/json/writer.hpp>
#include <mdstream/format/detail/mds_shard_builder.hpp>
#include <mdstream/format/detail/sample_encoder.hpp>
#include <mdstream/format/detail/shard_config_json.hpp>
#include <mdstream/writer/detail/dataset_sink.hpp>
#include <mdstream/writer/detail/stored_shards.hpp>
#include <mdstream/writer/options.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace mdstream::inline v0::detail {

class mds_writer {
 public:
  mds_writer(sample_layout layout, writer_options&& opts, const storage_policies& storage)
      : layout_(std::move(layout)),
        limit_(checked_size_limit(opts.size_limit.value)),
        encoder_(layout_),
        config_(mds_config(layout_, opts.compression, opts.hashes, opts.size_limit.value)),
        sink_(
            opts, storage, shard_format::mds, config_, layout_,
            [this, text = json::dump(config_, json::key_order::sorted)] {
              return std::make_unique<mds_shard>(text, limit_);
            },
            [this](bytes_view data, bytes_view) {
              return check_stored_mds(data, config_, layout_);
            }) {}
  mds_writer(const mds_writer&) = delete;
  mds_writer& operator=(const mds_writer&) = delete;

  void write(std::span<const named_value> values) {
    encoder_.encode(values.data(), values.size());
    encoder_.copy_to(place(encoder_.size()));
  }

  void write_raw(bytes_view sample) {
    layout_.check(sample);
    std::memcpy(place(sample.size()), sample.data(), sample.size());
  }

  /// Where the next sample of `bytes` bytes goes; the shard before is completed if it is full.
  std::byte* place(std::uint64_t bytes) {
    sink_.require_open();
    if (limit_ != 0 && limit_ < builder().file_size() + 4 + bytes && !sink_.is_cut_already())
      sink_.flush();
    std::byte* at = builder().add(bytes);
    ++samples_;
    return at;
  }

  void end_shard() {
    sink_.require_open();
    if (builder().samples() != 0) sink_.flush();
  }

  void finish() { sink_.finish(); }

  [[nodiscard]] std::uint64_t kept_samples() const noexcept { return sink_.kept_samples(); }
  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }
  [[nodiscard]] std::uint64_t shards() const noexcept { return sink_.shards(); }
  [[nodiscard]] const sample_layout& layout() const noexcept { return layout_; }

 private:
  struct mds_shard final : growing_shard {
    mds_shard(const std::string& config, std::uint64_t limit) : made(config, limit) {}
    [[nodiscard]] std::uint64_t samples() const override { return made.samples(); }
    void fill(finished_shard& shard) override { shard.data = made.finish(); }
    void clear() override { made.clear(); }
    mds_shard_builder made;
  };

  [[nodiscard]] mds_shard_builder& builder() noexcept {
    return static_cast<mds_shard&>(sink_.shard()).made;
  }

  sample_layout layout_;
  std::uint64_t limit_;
  sample_encoder encoder_;
  json::object config_;
  dataset_sink sink_;
  std::uint64_t samples_ = 0;
};

}  // namespace mdstream::inline v0::detail
