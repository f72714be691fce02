#pragma once

/// `model.safetensors.index.json`: which file of a Hugging Face model holds which tensor.

#include <mdstream/core/error.hpp>
#include <mdstream/core/json.hpp>
#include <mdstream/store/store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

struct sharded_index {
  std::uint64_t total_size = 0;  ///< bytes of all tensors, as the index says; 0: it does not
  std::vector<std::pair<std::string, std::string>> files{};  ///< tensor to file, sorted

  /// Each file once, sorted.
  [[nodiscard]] std::vector<std::string> file_names() const {
    std::vector<std::string> out;
    for (const auto& [tensor, file] : files) out.push_back(file);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  friend bool operator==(const sharded_index&, const sharded_index&) = default;
};

/// Throws `errc::corrupt` for what is no such index; a file's name that leads out of the directory
/// is one.
[[nodiscard]] inline sharded_index read_sharded_index(std::string_view text,
                                                      const diagnostics& where = {}) {
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

[[nodiscard]] inline std::string write_sharded_index(const sharded_index& index) {
  json::object files;
  for (const auto& [tensor, file] : index.files) files.emplace_back(tensor, file);
  return json::dump(json::object{{"metadata", json::object{{"total_size", index.total_size}}},
                                 {"weight_map", std::move(files)}}) +
         '\n';
}

/// `model-00001-of-00007.safetensors` for number 0 of 7; `model.safetensors` where it is the only.
[[nodiscard]] inline std::string sharded_file_name(std::size_t number, std::size_t of) {
  if (of == 1) return "model.safetensors";
  const auto digits = [](std::size_t value) {
    const std::string text = std::to_string(value);
    return text.size() < 5 ? std::string(5 - text.size(), '0') + text : text;
  };
  return "model-" + digits(number + 1) + "-of-" + digits(of) + ".safetensors";
}

}  // namespace mdstream::inline v0::detail
