#pragma once

// Batches of random samples of every kind of column, staged for kernels and collated on the host.

#include <mdstream/collate/detail/measure.hpp>
#include <mdstream/collate/detail/stage_block.hpp>
#include <mdstream/collate/execute.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <vector>

namespace batches {

namespace mds = mdstream;
namespace collate = mdstream::collate;

/// Memory as a device has it: aligned, and readable to the next multiple of 16 bytes, no farther.
class memory {
 public:
  explicit memory(std::uint64_t bytes, int fill = 0xAA)
      : bytes_((bytes + 15) / 16 * 16), data_(::operator new(bytes_, std::align_val_t{256})) {
    std::memset(data_.get(), fill, bytes_);
  }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_.get()); }
  [[nodiscard]] std::uint64_t size() const { return bytes_; }

 private:
  struct release {
    void operator()(void* p) const { ::operator delete(p, std::align_val_t{256}); }
  };
  std::uint64_t bytes_;
  std::unique_ptr<void, release> data_;
};

struct batch {
  std::vector<collate::source_column> sources{};
  std::vector<std::byte> raw{};
  std::vector<collate::sample_bytes> samples{};
  std::vector<collate::output_column> outputs{};
  std::vector<collate::pack_segment> segments{};
  collate::collate_plan plan{};
};

template <class T>
void append(std::vector<std::byte>& to, T value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), from, from + sizeof value);
}

inline void append_random(std::vector<std::byte>& to, std::uint64_t count, std::mt19937& random) {
  for (; count > 0; --count) to.push_back(static_cast<std::byte>(random()));
}

/// A value of a column: for shaped ones one dimension, or two, of u16 extents.
inline std::vector<std::byte> value_of(const collate::source_column& source, std::uint64_t elements,
                                       std::mt19937& random) {
  std::vector<std::byte> out;
  if (source.value_bytes != 0) {
    append_random(out, source.value_bytes, random);
    return out;
  }
  if (source.shaped) {
    const bool flat = random() % 2 == 0;
    append(out, static_cast<std::uint8_t>((flat ? 1 : 2) << 2 | 1));
    if (!flat) append(out, std::uint16_t{1});
    append(out, static_cast<std::uint16_t>(elements));
  }
  append_random(out, elements * size_of(source.type), random);
  return out;
}

/// `count` samples, whose variable values have up to `longest` elements. The samples begin at any
/// address, some right behind the one before.
inline void add_samples(batch& out, std::uint64_t count, std::uint64_t longest,
                        std::mt19937& random) {
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (random() % 3 == 0) append_random(out.raw, random() % 7, random);
    const std::size_t begin = out.raw.size();
    // Sequences of one sample are equally long, as packing wants them.
    const std::uint64_t length = longest == 0 ? 0 : random() % (longest + 1);
    std::vector<std::vector<std::byte>> values;
    for (const auto& source : out.sources) values.push_back(value_of(source, length, random));
    for (std::size_t k = 0; k < values.size(); ++k)
      if (out.sources[k].value_bytes == 0)
        append(out.raw, static_cast<std::uint32_t>(values[k].size()));
    for (const auto& value : values) out.raw.insert(out.raw.end(), value.begin(), value.end());
    places.emplace_back(begin, out.raw.size() - begin);
  }
  for (const auto& [begin, size] : places) out.samples.push_back({out.raw.data() + begin, size});
}

/// Lays the samples out as `Collator` does.
template <class Collator>
void lay_out(batch& out) {
  const auto variable = static_cast<std::uint32_t>(
      std::ranges::count(out.sources, std::uint64_t{0}, &collate::source_column::value_bytes));
  std::vector<collate::detail::column_measure> measures(out.sources.size());
  collate::detail::measure(out.sources, variable, out.samples, measures);
  out.plan = {.samples = out.samples.data(),
              .sample_count = out.samples.size(),
              .sources = out.sources.data(),
              .source_count = static_cast<std::uint32_t>(out.sources.size()),
              .variable_count = variable};
  if constexpr (requires { &Collator::pack; }) {
    std::vector<std::uint64_t> lengths;
    for (const auto& sample : out.samples) {
      std::uint64_t elements = 0;
      collate::detail::for_each_value(
          out.sources, variable, sample,
          [&](std::size_t k, const std::byte* value, std::uint64_t bytes) {
            if (!out.sources[k].shaped) return;
            elements = (bytes - collate::shape_header_bytes(mds::load<std::uint8_t>(value))) /
                       size_of(out.sources[k].type);
          });
      lengths.push_back(elements);
    }
    const auto packed = Collator{}.pack(out.sources, measures, lengths, out.outputs, out.segments);
    out.plan.slab_bytes = packed.slab_bytes;
    out.plan.pack_rows = packed.rows;
    out.plan.segments = out.segments.data();
    out.plan.segment_count = out.segments.size();
  } else if constexpr (requires { Collator{}.lay_out(0, 0, out.outputs); }) {
    std::uint64_t bytes = 0;
    for (const auto& sample : out.samples) bytes += sample.size;
    out.plan.slab_bytes = Collator{}.lay_out(bytes, out.samples.size(), out.outputs);
  } else {
    out.plan.slab_bytes =
        Collator{}.lay_out(out.sources, measures, out.samples.size(), out.outputs);
  }
  out.plan.outputs = out.outputs.data();
  out.plan.output_count = static_cast<std::uint32_t>(out.outputs.size());
}

/// The first byte that differs, or -1.
inline std::ptrdiff_t first_difference(const std::vector<std::byte>& a,
                                       const std::vector<std::byte>& b) {
  const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  return a == b ? -1 : at;
}

/// A part of a slab.
struct part {
  std::uint64_t at, bytes;
};

/// Whatever of the slab an output has: its values, offsets or lengths, and mask. Between those lies
/// padding.
inline std::vector<part> parts_of(const collate::output_column& out, std::uint64_t samples) {
  using kind = collate::output_kind;
  std::vector<part> all{{out.values_at, out.values_bytes}};
  if (out.kind == kind::ragged || out.kind == kind::samples)
    all.push_back({out.offsets_at, (samples + 1) * sizeof(std::int64_t)});
  if (out.kind == kind::padded) {
    all.push_back({out.offsets_at, samples * sizeof(std::int64_t)});
    all.push_back({out.mask_at, samples * out.row_elements});
  }
  return all;
}

/// Whether two slabs are equal in all that their outputs have.
inline bool are_equal(const std::vector<collate::output_column>& outputs, std::uint64_t samples,
                      const std::byte* a, const std::byte* b) {
  return std::ranges::all_of(outputs, [&](const collate::output_column& out) {
    return std::ranges::all_of(parts_of(out, samples), [&](const part& each) {
      return std::memcmp(a + each.at, b + each.at, each.bytes) == 0;
    });
  });
}

/// A staged plan with its memory: the host's block, and the "device's".
struct staged {
  memory host, device;
  collate::detail::staged_plan plan;
  std::byte* slab;

  explicit staged(const batch& from) : staged(collate::detail::staged_block(from.plan)) {}

 private:
  explicit staged(const collate::detail::staged_block& block)
      : host(block.block_bytes()),
        device(block.device_bytes()),
        plan(block.write(host.data(), device.data())),
        slab(device.data()) {
    std::memcpy(device.data() + block.block_at(), host.data(), block.block_bytes());
  }
};

}  // namespace batches
