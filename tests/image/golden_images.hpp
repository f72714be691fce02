#pragma once

// Image columns of the golden datasets: the files as they are stored, the pixels as Pillow gave
// them.

#include <mdstream/format/index.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/format/row_values.hpp>
#include <string>
#include <vector>

#include "format/golden.hpp"

namespace golden_images {

struct image {
  std::string file;
  std::uint32_t width, height;
  std::string mode;
  std::string pixels;
};

/// All images of the columns with this encoding, alone or in lists.
inline std::vector<image> of(const std::string& encoding) {
  using mdstream::as_bytes;
  std::vector<image> out;
  const std::string base = format_golden::root() + "mds/encodings_all/";
  const auto rows = format_golden::read_json(base + "samples.json");
  const auto index =
      mdstream::dataset_index::parse(format_golden::read_text(base + "data/index.json"));
  std::size_t row = 0;
  const auto add = [&](mdstream::bytes_view file, const format_golden::ordered_json& about) {
    out.push_back({std::string(mdstream::as_text(file)), about.at("size")[0].get<std::uint32_t>(),
                   about.at("size")[1].get<std::uint32_t>(), about.at("mode").get<std::string>(),
                   format_golden::from_base64(about.at("raw_b64").get<std::string>())});
  };
  for (std::size_t i = 0; i < index.shards(); ++i) {
    const std::string bytes = format_golden::read_text(base + "data/" + index.raw(i).name);
    const mdstream::mds_shard_view shard(as_bytes(bytes), index.shard_samples(i));
    for (std::size_t k = 0; k < shard.size(); ++k, ++row)
      for (const auto& column : index.layout(i).columns()) {
        if (column.encoding_text.find(encoding) == std::string::npos) continue;
        const auto& expected = rows.at(row).at("sample").at(column.name);
        const auto value = mdstream::read_column(index.layout(i), shard[k], column.name);
        if (const auto* files = std::get_if<mdstream::image_files>(&value.get()))
          for (std::size_t f = 0; f < files->size(); ++f) add((*files)[f], expected.at("v")[f]);
        else
          add(value.as<mdstream::bytes_view>(), expected);
      }
  }
  return out;
}

}  // namespace golden_images
