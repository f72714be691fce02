#pragma once

// Tensors of a training run: each element's bytes follow from name, place and step, so that what is
// loaded by any rank can be told from what any other saved.

#include <mdstream/checkpoint/box.hpp>
#include <mdstream/checkpoint/tensor_list.hpp>
#include <mdstream/core/fnv.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace training {

namespace mds = mdstream;

/// How tensors are cut: along which dimension, counted from the first or from the last.
enum class cut : std::uint8_t { rows, columns, whole };

inline std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

/// Calls `each` with the number of each element of a box, in the order of its bytes. A template,
/// with a loop at the end: without optimisation and under sanitizers most of the tests' time is
/// spent here.
template <class Each>
void for_elements(const mds::tensor_shape& shape, const mds::box& part, const Each& each,
                  std::size_t d = 0, std::uint64_t base = 0) {
  if (d == shape.size()) return each(base);
  const std::uint64_t first = base * shape[d] + part.offset[d], end = first + part.extent[d];
  for (std::uint64_t i = first; i < end; ++i) {
    if (d + 1 == shape.size())
      each(i);
    else
      for_elements(shape, part, each, d + 1, i);
  }
}

/// What one of `ranks` ranks holds.
class model {
 public:
  model(std::uint64_t rank, std::uint64_t ranks, cut how) {
    using enum mds::tensor_type;
    const auto shard = [&](std::string name, mds::tensor_type type, mds::tensor_shape shape) {
      mds::box part = mds::box::whole(shape);
      if (how != cut::whole) {
        const std::size_t d = how == cut::rows ? 0 : shape.size() - 1;
        const std::uint64_t all = shape[d], first = all * rank / ranks;
        part.offset[d] = first;
        part.extent[d] = all * (rank + 1) / ranks - first;
      } else if (mds::fnv1a().add(name).value() % ranks != rank) {
        return;  // whole tensors, dealt to the ranks
      }
      add(std::move(name), type, std::move(shape), std::move(part), false);
    };
    shard("h.0.w", f32, {96, 133});
    shard("h.1.w", bf16, {77, 64});
    shard("h.2.cube", u8, {7, 12, 9});
    shard("long", i64, {5003});
    shard("few", f32, {2, 3});  // fewer rows than some worlds have ranks
    shard("none", f32, {0, 4});
    const auto all_hold = [&](std::string name, mds::tensor_type type, mds::tensor_shape shape) {
      mds::box part = mds::box::whole(shape);
      add(std::move(name), type, std::move(shape), std::move(part), true);
    };
    all_hold("scalar", u64, {});
    all_hold("wide", f32, {600, 512});  // above the size from which each holder saves a share
    for (tensor& each : tensors_) {
      if (each.replicated)
        list_.replicated(each.name, each.type, each.shape, each.bytes.data(),
                         {.index = rank, .of = ranks});
      else
        list_.add(each.name, each.type, each.shape, each.part, each.bytes.data());
    }
  }
  model(const model&) = delete;
  model& operator=(const model&) = delete;

  [[nodiscard]] const mds::tensor_list& list() const { return list_; }

  /// What the optimizer does: all elements get the values of this step.
  void set(std::uint64_t step) {
    for (tensor& each : tensors_) {
      const auto bytes = values(each, step);
      std::copy(bytes.begin(), bytes.end(), each.bytes.begin());  // in their place
    }
  }
  void clear() {
    for (tensor& each : tensors_) std::fill(each.bytes.begin(), each.bytes.end(), std::byte{0xEE});
  }
  /// The first tensor that has other values; empty: none.
  [[nodiscard]] std::string difference(std::uint64_t step) const {
    for (const tensor& each : tensors_)
      if (each.bytes != values(each, step)) return each.name;
    return "";
  }

 private:
  struct tensor {
    std::string name;
    mds::tensor_type type;
    mds::tensor_shape shape;
    mds::box part;
    bool replicated;
    std::vector<std::byte> bytes;
  };

  void add(std::string name, mds::tensor_type type, mds::tensor_shape shape, mds::box part,
           bool replicated) {
    const auto bytes = static_cast<std::size_t>(*mds::detail::tensor_bytes(type, part.extent));
    tensors_.push_back({std::move(name), type, std::move(shape), std::move(part), replicated,
                        std::vector<std::byte>(bytes)});
  }

  static std::vector<std::byte> values(const tensor& of, std::uint64_t step) {
    const std::size_t size = mds::bits_of(of.type) / 8;
    const std::uint64_t seed = mixed(mds::fnv1a().add(of.name).value() + step);
    std::vector<std::byte> out(of.bytes.size());
    std::size_t at = 0;
    for_elements(of.shape, of.part, [&](std::uint64_t element) {
      const std::uint64_t value = mixed(seed + element);
      std::memcpy(out.data() + at, &value, size);
      at += size;
    });
    return out;
  }

  std::vector<tensor> tensors_;
  mds::tensor_list list_;
};

}  // namespace training
