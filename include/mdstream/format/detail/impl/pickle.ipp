#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/format/pickle.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE pickle_value pickle_tree::build(std::uint32_t at, unsigned depth) {
  const pickle_node& node = machine_.node(at);
  const std::uint64_t cost = 32 + node.text.size();
  if (depth > 256 || cost > left_)
    throw error(errc::unsupported, "a pickle nests too deeply or repeats itself too often");
  left_ -= cost;
  if (node.type == pickle_kind::callable || node.type == pickle_kind::element_type)
    throw error(errc::unsupported, "a pickle holds \"" + node.text + "\", which is no plain data");
  pickle_value out{.type = node.type,
                   .flag = node.flag,
                   .number = node.number,
                   .text = node.text,
                   .elements = node.elements,
                   .shape = node.shape};
  for (const std::uint32_t item : node.items) out.items.push_back(build(item, depth + 1));
  return out;
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0 {

MDSTREAM_INLINE pickle_value read_pickle(bytes_view pickle) {
  detail::pickle_machine machine(pickle);
  const std::uint32_t result = machine.run();
  return detail::pickle_tree(machine, pickle.size()).build(result);
}

}  // namespace mdstream::inline v0
