#pragma once

#include <mdstream/checkpoint/detail/sharded_index.hpp>
#include <mdstream/store/store.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::vector<std::string> sharded_index::file_names() const {
  std::vector<std::string> out;
  for (const auto& [tensor, file] : files) out.push_back(file);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

MDSTREAM_INLINE sharded_index read_sharded_index(std::string_view text, const diagnostics& where) {
  sharded_index out;
  try {
    const json::value index = json::parse(text, where);
    if (const json::value* about = index.find("metadata")) {
      // Some writers have a float here, or none.
      if (const json::value* size = about->find("total_size")) {
        const auto bytes = size->as<double>("total_size");
        if (!(bytes >= 0 && bytes < 0x1p63))
          throw error(errc::corrupt, "\"total_size\" is no number of bytes");
        out.total_size = size->type() == json::kind::integer ? size->as<std::uint64_t>("total_size")
                                                             : static_cast<std::uint64_t>(bytes);
      }
    }
    for (const auto& [tensor, file] : index.get<json::object>("weight_map")) {
      const auto& name = file.as<std::string>(tensor);
      if (!key_is_safe(name) || name.find('/') != std::string::npos)
        throw error(errc::corrupt, "tensor \"" + tensor + "\" would lie in \"" + name +
                                       "\", which is not a file's name");
      out.files.emplace_back(tensor, name);
    }
  } catch (const error& e) {
    diagnostics about = e.where();
    if (about.url.empty()) about.url = where.url;
    throw error(e.code(), std::move(about));
  }
  std::sort(out.files.begin(), out.files.end());
  return out;
}

MDSTREAM_INLINE std::string write_sharded_index(const sharded_index& index) {
  json::object files;
  for (const auto& [tensor, file] : index.files) files.emplace_back(tensor, file);
  return json::dump(json::object{{"metadata", json::object{{"total_size", index.total_size}}},
                                 {"weight_map", std::move(files)}}) +
         '\n';
}

MDSTREAM_INLINE std::string sharded_file_name(std::size_t number, std::size_t of) {
  if (of == 1) return "model.safetensors";
  const auto digits = [](std::size_t value) {
    const std::string text = std::to_string(value);
    return text.size() < 5 ? std::string(5 - text.size(), '0') + text : text;
  };
  return "model-" + digits(number + 1) + "-of-" + digits(of) + ".safetensors";
}

}  // namespace mdstream::inline v0::detail
