#pragma once

/// Layouts as JSON text.

#include <mdstream/checkpoint/detail/layout.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/json/reader.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// Adds the members `files` and `tensors` of a layout.
///
///     "files": [["r0-0.safetensors", 4096, ["01234567"]], …],
///     "tensors": [["w", "F32", [6,4], [[0,512,[0,0],[3,4]], …]], …]
void append_layout(std::string& out, const data_layout& layout);

/// Reads `files` and `tensors`. All that it gives back is consistent: names of files that stay in
/// their directory, boxes within their tensors, bytes within their files.
class layout_reader {
 public:
  explicit layout_reader(json::reader& in) : in_(in) {}

  void read_files(data_layout& out);

  void read_tensors(data_layout& out);

 private:
  [[noreturn]] void fail(const stored_tensor& in, const std::string& why) {
    in_.fail("tensor \"" + in.name + "\": " + why);
  }
  void begin_tuple();
  void item() {
    if (!in_.next_item()) in_.fail("another item is expected");
  }
  void end_tuple() {
    if (in_.next_item()) in_.fail("no further item is expected");
  }
  void read_numbers(std::vector<std::uint64_t>& into);
  std::uint32_t checksum();

  void read_piece(stored_tensor& into, const std::vector<data_file>& files);

  json::reader& in_;
};

/// The text of a checkpoint's layout.
[[nodiscard]] std::string write_layout(const data_layout& layout);

/// Throws `errc::corrupt`, naming tensor and byte, for what is no layout.
[[nodiscard]] data_layout read_layout(std::string_view text, const diagnostics& where = {});

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/layout_text.ipp>
#endif
