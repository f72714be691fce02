// interop_tool write CASE.json DIRECTORY: writes the samples of a case, given as typed values.
// interop_tool read DIRECTORY: prints every sample as typed values, a JSON line each.
// The case has format, columns, options (compression, hashes, size_limit, newline, separator) and
// samples. Typed values are described in tests/golden/README.md.

#include <mdstream/codec/full.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/hash/full.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/writer/row_writer.hpp>
#include <mdstream/writer/writer.hpp>

#include <bit>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "format/golden.hpp"
#include "format/typed_values.hpp"

namespace {

using format_golden::ordered_json;

struct policies {
  using schema = mdstream::dynamic_schema;
  using store = mdstream::store::local;
  using codec = mdstream::full_codec;
  using hash = mdstream::full_hash;
};

template <class Options>
void set_options(Options& options, const ordered_json& about) {
  const auto& given = about.at("options");
  options.compression = given.value("compression", "");
  options.hashes = given.value("hashes", std::vector<std::string>());
  options.size_limit = given.at("size_limit").is_null()
                           ? std::uint64_t{0}
                           : given.at("size_limit").get<std::uint64_t>();
  options.max_workers = given.value("threads", 2U);
  for (const auto& [name, encoding] : about.at("columns").items())
    options.columns.push_back({name, encoding.template get<std::string>()});
}

template <class Writer>
void write_samples(Writer& out, const ordered_json& about) {
  for (const auto& sample : about.at("samples")) {
    typed_values::arena keep;
    std::vector<mdstream::named_value> values;
    for (const auto& [name, value] : sample.items()) {
      auto given = typed_values::value_of(value, keep);
      if (!given) throw std::runtime_error("no such value: " + value.dump());
      values.push_back({name, *std::move(given)});
    }
    out.write(std::span<const mdstream::named_value>(values));
  }
  out.finish();
}

void write(const std::string& case_file, const std::string& directory) {
  const auto about = format_golden::read_json(case_file);
  const auto format = *mdstream::find_shard_format(about.at("format").get<std::string>());
  if (format == mdstream::shard_format::mds) {
    mdstream::writer_options<mdstream::store::local> options{.out = directory};
    set_options(options, about);
    mdstream::writer<policies> out(options);
    write_samples(out, about);
    return;
  }
  mdstream::row_writer_options<mdstream::store::local> options{.out = directory, .format = format};
  set_options(options, about);
  options.newline = about.at("options").value("newline", "\n");
  options.separator = about.at("options").value("separator", "");
  mdstream::row_writer<policies> out(options);
  write_samples(out, about);
}

std::string to_base64(mdstream::bytes_view bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned word = 0;
    for (std::size_t k = 0; k < 3; ++k)
      word = word << 8 | (i + k < bytes.size() ? std::to_integer<unsigned>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      out += k <= bytes.size() - i ? digits[word >> (18 - 6 * k) & 63U] : '=';
  }
  return out;
}

std::string hex_bits(std::uint64_t bits, int digits) {
  char out[17];
  std::snprintf(out, sizeof out, "%0*lx", digits, static_cast<unsigned long>(bits));
  return out;
}

ordered_json typed_image(const mdstream::pil_image& image) {
  return {{"t", "image"},
          {"mode", image.mode},
          {"size", {image.width, image.height}},
          {"raw_b64", to_base64(image.pixels)}};
}

ordered_json typed_float(double value, mdstream::encoding_kind kind) {
  using mdstream::encoding_kind;
  if (kind == encoding_kind::float16)
    return {{"t", "float16"}, {"bits", hex_bits(mdstream::float16(value).bits, 4)}};
  if (kind == encoding_kind::float32)
    return {{"t", "float32"},
            {"bits", hex_bits(std::bit_cast<std::uint32_t>(static_cast<float>(value)), 8)}};
  const auto bits = hex_bits(std::bit_cast<std::uint64_t>(value), 16);
  return {{"t", kind == encoding_kind::float64 ? "float64" : "float"}, {"bits", bits}};
}

ordered_json typed(const mdstream::column_value& value, const mdstream::encoding& type) {
  return std::visit(
      [&]<class T>(const T& v) -> ordered_json {
        using mdstream::encoding_kind;
        if constexpr (std::is_same_v<T, bool>) {
          return {{"t", "bool"}, {"v", v}};
        } else if constexpr (std::is_integral_v<T>) {
          const auto scalar = mdstream::scalar_dtype(type.kind);
          const bool plain = scalar == mdstream::dtype::none || type.kind == encoding_kind::int_;
          return {{"t", plain ? "int" : std::string(to_string(scalar))}, {"v", std::to_string(v)}};
        } else if constexpr (std::is_same_v<T, double>) {
          return typed_float(v, type.kind);
        } else if constexpr (std::is_same_v<T, mdstream::json::big_integer>) {
          return {{"t", "int"}, {"v", v.digits}};
        } else if constexpr (std::is_same_v<T, mdstream::decimal>) {
          return {{"t", "decimal"}, {"v", to_string(v)}};
        } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
          if (type.kind == encoding_kind::json)
            return {{"t", "json"}, {"text", mdstream::json::dump(mdstream::json::parse(v))}};
          return {{"t", "str"}, {"v", std::string(v)}};
        } else if constexpr (std::is_same_v<T, mdstream::bytes_view>) {
          return {{"t", "bytes"}, {"b64", to_base64(v)}};
        } else if constexpr (std::is_same_v<T, mdstream::any_ndarray>) {
          const mdstream::array_shape extents = v.shape();
          return {{"t", "ndarray"},
                  {"dtype", to_string(v.type())},
                  {"shape", std::vector<std::uint64_t>(extents.begin(), extents.end())},
                  {"b64", to_base64(v.bytes())}};
        } else if constexpr (std::is_same_v<T, mdstream::pil_image>) {
          return typed_image(v);
        } else if constexpr (std::is_same_v<T, std::vector<mdstream::pil_image>>) {
          ordered_json list = ordered_json::array();
          for (const auto& each : v) list.push_back(typed_image(each));
          return {{"t", "list"}, {"v", list}};
        } else if constexpr (std::is_same_v<T, mdstream::image_files>) {
          ordered_json list = ordered_json::array();
          for (const auto& each : v) list.push_back({{"t", "bytes"}, {"b64", to_base64(each)}});
          return {{"t", "list"}, {"v", list}};
        } else {
          return nullptr;
        }
      },
      value.get());
}

std::string read_raw(const std::string& directory, const mdstream::dataset_index& index,
                     std::size_t shard, mdstream::file_role raw_role,
                     mdstream::file_role zip_role) {
  const auto raw = *index.file(shard, raw_role);
  const auto stored = index.file(shard, zip_role).value_or(raw);
  const std::string bytes = format_golden::read_text(directory + "/" + stored.name);
  for (const mdstream::file_hash& hash : stored.hashes)
    if (mdstream::hash_of<mdstream::full_hash>(hash.name, mdstream::as_bytes(bytes)) != hash.hex)
      throw std::runtime_error(stored.name + ": its " + hash.name + " differs");
  if (!index.file(shard, zip_role)) return bytes;
  std::string out(raw.bytes, '\0');
  mdstream::diagnostics where;
  const auto codec = mdstream::full_codec::open(index.compression(shard));
  if (codec.decompress(mdstream::as_bytes(bytes), std::as_writable_bytes(std::span(out)), where))
    throw std::runtime_error(stored.name + ": " + where.what);
  return out;
}

void read(const std::string& directory) {
  const auto index =
      mdstream::dataset_index::parse(format_golden::read_text(directory + "/index.json"));
  using mdstream::file_role;
  for (std::size_t i = 0; i < index.shards(); ++i) {
    const std::string data =
        read_raw(directory, index, i, file_role::raw_data, file_role::zip_data);
    const bool mds = index.format(i) == mdstream::shard_format::mds;
    const std::string meta =
        mds ? "" : read_raw(directory, index, i, file_role::raw_meta, file_role::zip_meta);
    const mdstream::shard_config& config = index.config(i);
    for (std::uint64_t k = 0; k < index.shard_samples(i); ++k) {
      const auto sample =
          mds ? mdstream::mds_shard_view(mdstream::as_bytes(data), index.shard_samples(i))[k]
              : mdstream::row_shard_view(mdstream::as_bytes(data), mdstream::as_bytes(meta),
                                         index.shard_samples(i))[k];
      ordered_json line;
      for (std::size_t c = 0; c < config.layout.size(); ++c)
        line[config.layout[c].name] =
            typed(mdstream::read_column(config, sample, c), config.layout[c].type);
      std::printf("%s\n", line.dump().c_str());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() == 3 && arguments[0] == "write")
      write(arguments[1], arguments[2]);
    else if (arguments.size() == 2 && arguments[0] == "read")
      read(arguments[1]);
    else
      return 2;
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "interop_tool: %s\n", e.what());
    return 1;
  }
}
