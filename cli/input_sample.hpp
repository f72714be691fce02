#pragma once

/// Lines of JSON as samples for a writer: the other direction of values.hpp.

#include <mdstream/core/json.hpp>
#include <mdstream/format/column_value.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <cstddef>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

namespace cli {

namespace mds = mdstream;

/// A line of input as the values of a sample. Holds what they view.
class input_sample {
 public:
  /// The line is an object with a member for each column. Plain values are what `plain_value`
  /// gives; `typed` ones are what `typed_value` gives, alone or, as `cat --typed` prints them, in a
  /// member "sample" beside the sample's place. Throws mds::error, naming the column, for what is
  /// no value of a column or has none; a column that is missing is left to the writer.
  input_sample(const mds::sample_layout& columns, std::string_view line, bool typed);

  input_sample(const input_sample&) = delete;
  input_sample& operator=(const input_sample&) = delete;

  [[nodiscard]] std::span<const mds::named_value> values() const { return values_; }

 private:
  using tree = mds::json::value;

  mds::column_value typed_value(const mds::encoding& type, const tree& from);
  mds::column_value plain_value(const mds::encoding& type, const tree& from);
  mds::column_value typed_list(const mds::encoding& type, const tree& from);
  mds::column_value typed_array(const tree& from);
  mds::column_value nested_array(const mds::encoding& type, const tree& from);
  mds::pil_image typed_image(const tree& from);
  mds::bytes_view base64_bytes(const tree& from);
  mds::column_value array_of(mds::dtype type, const mds::array_shape& shape, mds::bytes_view bytes);

  tree line_;
  std::deque<std::vector<std::byte>> bytes_;
  std::deque<mds::array_shape> shapes_;
  std::vector<mds::named_value> values_;
};

}  // namespace cli
