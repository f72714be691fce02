#pragma once

#include <mdstream/checkpoint/detail/renamed.hpp>
#include <mdstream/checkpoint/detail/run_store.hpp>
#include <mdstream/checkpoint/detail/safetensors.hpp>
#include <mdstream/checkpoint/detail/sharded_index.hpp>
#include <mdstream/checkpoint/export.hpp>
#include <mdstream/checkpoint/tensor_list.hpp>
#include <mdstream/core/detail/pages.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace mdstream::inline v0 {

MDSTREAM_INLINE std::vector<std::string> export_checkpoint(const checkpoint& from,
                                                           opened_store into,
                                                           const export_options& options) {
  using entries = std::vector<detail::safetensors_entry>;
  detail::run_store store(std::move(into), patient_requests(options.patience), options.warn);
  for (const object_info& each : store.list(""))
    if (each.key.ends_with(".safetensors") || each.key.ends_with(".safetensors.index.json"))
      throw error(errc::invalid_argument,
                  {.what = "there is a model already", .url = store.url(each.key)});
  const detail::renamed_tensors tensors(from, options.rename, options.cast);
  std::vector<entries> files;
  std::uint64_t sum = 0, total = 0;
  for (const tensor_info& each : tensors.all()) {
    const std::uint64_t bytes = *detail::tensor_bytes(each.type, each.shape);
    if (files.empty() || (sum > 0 && sum + bytes > options.file_bytes.value)) {
      files.emplace_back();
      sum = 0;
    }
    sum += bytes;
    total += bytes;
    files.back().push_back({.name = each.name, .type = each.type, .shape = each.shape});
  }
  if (files.empty()) files.emplace_back();

  const std::array<std::pair<std::string, std::string>, 1> about{{{"format", "pt"}}};
  detail::sharded_index index{.total_size = total};
  std::vector<std::string> names;
  for (std::size_t f = 0; f < files.size(); ++f) {
    const std::string name = detail::sharded_file_name(f, files.size());
    const std::string head = detail::write_safetensors(files[f], about);
    const std::uint64_t bytes = files[f].empty() ? 0 : files[f].back().end;
    const detail::pages memory(head.size() + static_cast<std::size_t>(bytes));
    std::memcpy(memory.data(), head.data(), head.size());
    tensor_list wanted;
    for (const detail::safetensors_entry& each : files[f]) {
      wanted.add(each.name, each.type, each.shape, memory.data() + head.size() + each.begin);
      index.files.emplace_back(each.name, name);
    }
    from.load(wanted, tensors.reading(options.requests));
    store.write(name, {memory.data(), memory.size()});
    if (options.progress) options.progress(memory.size());
    names.push_back(name);
  }
  if (files.size() > 1) {
    std::sort(index.files.begin(), index.files.end());
    names.emplace_back("model.safetensors.index.json");
    store.publish(names.back(), detail::write_sharded_index(index));
  }
  return names;
}

}  // namespace mdstream::inline v0
