#pragma once

// The tensors of a model with 124 million parameters and the moments of Adam, 1.5 GB, in a file
// that this program and its peers map.

#include <mdstream/checkpoint/tensor_list.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace mds = mdstream;

struct named_shape {
  std::string name;
  mds::tensor_shape shape;
};

/// GPT-2 small: parameters, then both moments of each.
inline std::vector<named_shape> shapes_of_state() {
  std::vector<named_shape> out{{"wte", {50257, 768}}, {"wpe", {1024, 768}}};
  for (int i = 0; i < 12; ++i) {
    const std::string h = "h." + std::to_string(i) + '.';
    const std::vector<named_shape> layer{
        {h + "ln_1.weight", {768}},           {h + "ln_1.bias", {768}},
        {h + "attn.qkv.weight", {768, 2304}}, {h + "attn.qkv.bias", {2304}},
        {h + "attn.out.weight", {768, 768}},  {h + "attn.out.bias", {768}},
        {h + "ln_2.weight", {768}},           {h + "ln_2.bias", {768}},
        {h + "mlp.in.weight", {768, 3072}},   {h + "mlp.in.bias", {3072}},
        {h + "mlp.out.weight", {3072, 768}},  {h + "mlp.out.bias", {768}}};
    out.insert(out.end(), layer.begin(), layer.end());
  }
  out.push_back({"ln_f.weight", {768}});
  out.push_back({"ln_f.bias", {768}});
  const std::size_t parameters = out.size();
  for (const char* const moment : {".exp_avg", ".exp_avg_sq"})
    for (std::size_t i = 0; i < parameters; ++i)
      out.push_back({out[i].name + moment, out[i].shape});
  return out;
}

/// Memory for all tensors, one behind the other.
class state_memory {
 public:
  /// New memory, which has been touched.
  state_memory() : state_memory(-1) { fill(); }
  /// The bytes of a file that is made where it is not there, and beside it what lies where.
  explicit state_memory(const std::string& file)
      : state_memory(::open(made(file).c_str(), O_RDONLY | O_CLOEXEC)) {
    if (::madvise(data_, bytes(), MADV_POPULATE_READ) != 0)  // the page tables, too
      throw std::runtime_error("cannot read " + file);
  }
  state_memory(const state_memory&) = delete;
  state_memory& operator=(const state_memory&) = delete;
  ~state_memory() { ::munmap(data_, bytes()); }

  [[nodiscard]] static std::size_t bytes() {
    static const std::size_t all = [] {
      std::size_t sum = 0;
      for (const named_shape& each : shapes_of_state()) sum += bytes_of(each.shape);
      return sum;
    }();
    return all;
  }
  [[nodiscard]] std::byte* data() const { return data_; }

  /// Rows of each tensor that one of `ranks` ranks holds, packed where the whole tensor would lie.
  /// `columns`: the last dimension is cut instead.
  [[nodiscard]] mds::tensor_list list(std::uint64_t rank = 0, std::uint64_t ranks = 1,
                                      bool columns = false) const {
    mds::tensor_list out;
    std::size_t at = 0;
    for (const named_shape& each : shapes_of_state()) {
      mds::box part = mds::box::whole(each.shape);
      const std::size_t d = columns ? each.shape.size() - 1 : 0;
      part.offset[d] = each.shape[d] * rank / ranks;
      part.extent[d] = each.shape[d] * (rank + 1) / ranks - part.offset[d];
      out.add(each.name, mds::tensor_type::f32, each.shape, part, data_ + at);
      at += bytes_of(each.shape);
    }
    return out;
  }

 private:
  explicit state_memory(int file)
      : data_(static_cast<std::byte*>(::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | (file < 0 ? MAP_ANONYMOUS : 0), file,
                                             0))) {
    if (file >= 0) ::close(file);
    if (data_ == MAP_FAILED) throw std::runtime_error("no memory for the tensors");
  }

  static std::size_t bytes_of(const mds::tensor_shape& shape) {
    std::size_t count = sizeof(float);
    for (const std::uint64_t each : shape) count *= each;
    return count;
  }

  void fill() {
    for (std::size_t i = 0; i < bytes(); i += 4096) data_[i] = std::byte{1};
  }

  static const std::string& made(const std::string& file) {
    if (std::filesystem::exists(file) && std::filesystem::file_size(file) == bytes()) return file;
    std::ofstream out(file, std::ios::binary), what(file + ".tsv");
    std::mt19937_64 random(1);
    std::vector<std::uint64_t> words(std::size_t{1} << 17);
    for (std::uint64_t& word : words) word = random();
    std::size_t at = 0;
    for (const named_shape& each : shapes_of_state()) {
      what << each.name << '\t' << at;
      for (const std::uint64_t extent : each.shape) what << '\t' << extent;
      what << '\n';
      at += bytes_of(each.shape);
    }
    for (std::size_t written = 0; written < at; written += words.size() * 8) {
      words[written / 4096 % words.size()] += written;
      out.write(reinterpret_cast<const char*>(words.data()),
                static_cast<std::streamsize>(std::min(words.size() * 8, at - written)));
    }
    return file;
  }

  std::byte* data_;
};

}  // namespace bench
