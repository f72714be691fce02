// The kernels' functors on a processor, each against the host loop that does the same: what a
// device runs is not measured here, see bench/gpu.cpp.

#include <mdstream/collate/convert.hpp>
#include <mdstream/collate/detail/stage_block.hpp>
#include <mdstream/collate/execute.hpp>
#include <mdstream/collate/packed.hpp>
#include <mdstream/collate/padded.hpp>
#include <mdstream/collate/ragged.hpp>
#include <mdstream/cuda/collate.cuh>
#include <mdstream/cuda/convert.cuh>
#include <mdstream/cuda/rows.cuh>

#include "support/harness.hpp"
#include "support/token_batch.hpp"

#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <vector>

namespace {

namespace mds = mdstream;
namespace collate = mds::collate;

class memory {
 public:
  explicit memory(std::uint64_t bytes)
      : data_(static_cast<std::byte*>(::operator new(bytes + 16, std::align_val_t{256}))) {
    std::memset(data_.get(), 1, bytes + 16);
  }
  [[nodiscard]] std::byte* data() const { return data_.get(); }

 private:
  struct release {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{256}); }
  };
  std::unique_ptr<std::byte, release> data_;
};

constexpr std::uint64_t bytes_of_a_case = 64 << 20;
constexpr int turns = 41;  // of some hundredths of a second, which move by a third
using packed_rows = collate::packed<collate::packing{.row = 4096}>;

template <class Collator>
void collate_case(const char* name, std::uint64_t average, const Collator& collator) {
  const bench::token_batch from(bytes_of_a_case, average, collator);
  const collate::detail::staged_block block(from.plan);
  const memory device(block.device_bytes()), host(block.block_bytes()), slab(from.plan.slab_bytes);
  const collate::detail::staged_plan staged = block.write(host.data(), device.data());
  std::memcpy(device.data() + block.block_at(), host.data(), block.block_bytes());
  // The host's loop over the very block that the kernels read: samples back to back, in order.
  std::vector<collate::sample_bytes> in_block;
  for (std::uint64_t i = 0; i < from.plan.sample_count; ++i)
    in_block.push_back({staged.raw + staged.offsets[i], staged.offsets[i + 1] - staged.offsets[i]});
  collate::collate_plan plan = from.plan;
  plan.samples = in_block.data();
  bench::run_case("kernels", name, "bytes/s",
                  {{"mdstream",
                    [&] {
                      mds::kernels::collate_staged(staged);
                      return plan.slab_bytes;
                    }},
                   {"limit:host loop",
                    [&] {
                      collate::execute(plan, slab.data());
                      return plan.slab_bytes;
                    }}},
                  turns);
}

void gather_case(const char* name, std::uint64_t row_bytes) {
  const std::uint64_t rows = bytes_of_a_case / row_bytes;
  const memory table(bytes_of_a_case), out(bytes_of_a_case);
  std::vector<std::int64_t> ids(rows);
  std::mt19937_64 random(1);
  for (auto& id : ids) id = static_cast<std::int64_t>(random() % rows);
  bench::run_case(
      "kernels", name, "bytes/s",
      {{"mdstream",
        [&] {
          mds::kernels::gather_rows({table.data(), rows, row_bytes}, ids.data(), rows, out.data());
          return bytes_of_a_case;
        }},
       {"limit:host loop",
        [&] {
          for (std::uint64_t k = 0; k < rows; ++k)
            std::memcpy(out.data() + k * row_bytes,
                        table.data() + static_cast<std::uint64_t>(ids[k]) * row_bytes, row_bytes);
          return bytes_of_a_case;
        }}},
      turns);
}

void convert_cases() {
  constexpr std::uint64_t count = bytes_of_a_case / 8;
  const memory in(count * 2), ids(count * 8);
  const auto* const tokens = reinterpret_cast<const std::uint16_t*>(in.data());
  auto* const out = reinterpret_cast<std::int64_t*>(ids.data());
  bench::run_case("kernels", "uint16 to int64 ids", "bytes/s",
                  {{"mdstream",
                    [&] {
                      mds::kernels::widen<std::uint16_t, std::int64_t>(tokens, count, out);
                      return count * 10;
                    }},
                   {"limit:host loop",
                    [&] {
                      collate::widen(tokens, count, out);
                      return count * 10;
                    }}},
                  turns);
  const collate::label_rows rows{.rows = count / 2048, .row_elements = 2048};
  bench::run_case("kernels", "labels", "bytes/s",
                  {{"mdstream",
                    [&] {
                      mds::kernels::shift_labels(tokens, rows, out);
                      return count * 10;
                    }},
                   {"limit:host loop",
                    [&] {
                      collate::shift_labels(tokens, rows, out);
                      return count * 10;
                    }}},
                  turns);
  const auto images = collate::image_rows{.images = 64, .pixels = 224 * 224}.normalised_by(
      {0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F, 1});
  const std::uint64_t values = images.images * images.pixels * images.channels;
  const memory pixels(values), floats(values * 4);
  const auto* const from = reinterpret_cast<const std::uint8_t*>(pixels.data());
  auto* const to = reinterpret_cast<float*>(floats.data());
  bench::run_case("kernels", "normalise, NHWC to NCHW float", "bytes/s",
                  {{"mdstream",
                    [&] {
                      mds::kernels::normalise(from, images, to);
                      return values * 5;
                    }},
                   {"limit:host loop",
                    [&] {
                      collate::normalise(from, images, to);
                      return values * 5;
                    }}},
                  turns);
}

}  // namespace

int main() {
  collate_case("ragged, 64 B", 64, collate::ragged{});
  collate_case("ragged, 4 KiB", 4096, collate::ragged{});
  collate_case("padded, 4 KiB", 4096, collate::padded<>{});
  collate_case("packed, 4 KiB", 4096, packed_rows{});
  gather_case("rows, 64 B", 64);
  gather_case("rows, 4 KiB", 4096);
  convert_cases();
}
