// checkpoint_heads read: takes whole safetensors files from standard input, each with its size
// (u64) in front; prints a line for each: what its head says, as JSON, or "refused: why".
// checkpoint_heads write: takes a JSON object of metadata and tensors; prints the head of their
// file.

#include <iostream>
#include <iterator>
#include <mdstream/checkpoint/detail/safetensors.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace mds = mdstream;
namespace json = mdstream::json;

std::string all_input() { return {std::istreambuf_iterator<char>(std::cin), {}}; }

json::object describe(const mds::detail::safetensors_head& head) {
  json::object tensors, metadata;
  for (const auto& each : head.tensors) {
    json::array shape;
    for (const std::uint64_t extent : each.shape) shape.emplace_back(extent);
    tensors.emplace_back(
        each.name, json::array{mds::to_string(each.type), std::move(shape), each.begin, each.end});
  }
  for (const auto& [key, value] : head.metadata) metadata.emplace_back(key, value);
  return {{"tensors", std::move(tensors)}, {"metadata", std::move(metadata)}};
}

void read_files() {
  const std::string input = all_input();
  mds::bytes_view rest = mds::as_bytes(input);
  while (!rest.empty()) {
    const auto size = static_cast<std::size_t>(mds::load<std::uint64_t>(rest.data()));
    const mds::bytes_view file = rest.subspan(8, size);
    rest = rest.subspan(8 + size);
    try {
      const auto head = mds::detail::safetensors_head_bytes(file, file.size());
      std::cout << json::dump(describe(mds::detail::read_safetensors(
                       file.first(static_cast<std::size_t>(head)), file.size())))
                << '\n';
    } catch (const mds::error& e) {
      std::string line = e.what();
      for (char& c : line)
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F) c = '?';
      std::cout << "refused: " << line << '\n';
    }
  }
}

void write_head() {
  const json::value input = json::parse(all_input());
  std::vector<std::pair<std::string, std::string>> metadata;
  for (const auto& [key, value] : input.get<json::object>("metadata"))
    metadata.emplace_back(key, value.as<std::string>());
  std::vector<mds::detail::safetensors_entry> tensors;
  for (const auto& [name, about] : input.get<json::object>("tensors")) {
    const auto& parts = about.as<json::array>();
    auto& made = tensors.emplace_back();
    made.name = name;
    made.type = mds::find_tensor_type(parts.at(0).as<std::string>()).value();
    for (const json::value& extent : parts.at(1).as<json::array>())
      made.shape.push_back(extent.as<std::uint64_t>());
  }
  std::cout << mds::detail::write_safetensors(tensors, metadata);
}

}  // namespace

int main(int count, char* arguments[]) {
  const std::string mode = count == 2 ? arguments[1] : "";
  if (mode == "read") return read_files(), 0;
  if (mode == "write") return write_head(), 0;
  std::cerr << "checkpoint_heads read|write\n";
  return 2;
}
