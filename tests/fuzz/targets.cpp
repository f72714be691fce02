#include "fuzz/targets.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mdstream/checkpoint/detail/layout_text.hpp>
#include <mdstream/checkpoint/detail/run_texts.hpp>
#include <mdstream/checkpoint/detail/safetensors.hpp>
#include <mdstream/checkpoint/detail/sealed_json.hpp>
#include <mdstream/checkpoint/detail/sharded_index.hpp>
#include <mdstream/codec/detail/gz_stream.hpp>
#include <mdstream/codec/detail/zstd_stream.hpp>
#include <mdstream/codec/full.hpp>
#include <mdstream/collate/detail/source.hpp>
#include <mdstream/collate/execute.hpp>
#include <mdstream/collate/ragged.hpp>
#include <mdstream/core/json.hpp>
#include <mdstream/format/detail/column_picks.hpp>
#include <mdstream/format/detail/row_shard.hpp>
#include <mdstream/format/detail/sample_encoder.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/format/mds_shard.hpp>
#include <mdstream/format/pickle.hpp>
#include <mdstream/format/row_values.hpp>
#include <mdstream/launch/loss_guard.hpp>
#include <mdstream/net/http_message.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/uri.hpp>
#include <mdstream/net/xml.hpp>
#include <mdstream/store/detail/http_range.hpp>
#include <mdstream/stream/state.hpp>
#include <mdstream/writer/detail/index_text.hpp>
#include <mdstream/writer/detail/stored_shards.hpp>
#include <mdstream/writer/merge_index.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/input_sample.hpp"
#include "fuzz/answer_text.hpp"
#include "fuzz/refusal.hpp"

namespace fuzz {

namespace {

using mdstream::as_bytes;
using mdstream::as_text;

/// Collates all samples of a shard into one batch on the heap, where a sanitizer sees its ends.
/// Throws `bad_sample` for those that cannot be.
void collate_shard(const mdstream::sample_layout& layout, const mdstream::mds_shard_view& shard) {
  namespace collate = mdstream::collate;
  const auto sources = collate::detail::sources_of<collate::ragged>(layout);
  std::vector<collate::sample_bytes> samples;
  for (std::uint64_t i = 0; i < shard.size(); ++i)
    samples.push_back({shard[i].data(), shard[i].size()});
  const auto variable = static_cast<std::uint32_t>(layout.variable_columns());
  std::vector<collate::detail::column_measure> measures(sources.size());
  collate::detail::measure(sources, variable, samples, measures);
  std::vector<collate::output_column> outputs;
  std::vector<std::byte> slab(
      collate::ragged{}.lay_out(sources, measures, samples.size(), outputs));
  collate::execute({.samples = samples.data(),
                    .sample_count = samples.size(),
                    .sources = sources.data(),
                    .source_count = static_cast<std::uint32_t>(sources.size()),
                    .variable_count = variable,
                    .outputs = outputs.data(),
                    .output_count = static_cast<std::uint32_t>(outputs.size()),
                    .slab_bytes = slab.size()},
                   slab.data());
}

/// The index of two datasets that both have the index `text`.
void merge(std::string_view text, std::size_t shards) {
  std::string merged;
  allow_refusal([&] {
    const mdstream::index_part parts[]{{"0", std::string(text)}, {"1/2", std::string(text)}};
    merged = mdstream::merge_indexes(parts);
  });
  if (merged.empty()) return;
  const auto index = mdstream::dataset_index::parse(merged, {.allow_unsafe_types = true});
  require(index.shards() == 2 * shards);
  require(mdstream::detail::split_index_entries(merged, {}).size() == 2 * shards);
}

/// A shard that a killed writer stored, and that embeds the options of the one that resumes.
void check_stored(const mdstream::sample_layout& layout, mdstream::bytes_view bytes,
                  const mdstream::mds_shard_view& shard) {
  const std::uint64_t begin = 8 + 4 * shard.size(), end = shard.offset(0);
  if (end < begin || end > bytes.size()) return;
  allow_refusal([&] {
    const auto options = mdstream::json::parse(as_text(bytes.subspan(begin, end - begin)));
    const auto& config = options.as<mdstream::json::object>();
    require(mdstream::detail::check_stored_mds(bytes, config, layout) == shard.size());
  });
}
void check_stored(mdstream::bytes_view data, mdstream::bytes_view meta, std::uint64_t rows) {
  allow_refusal([&] {
    const auto options = mdstream::json::parse(as_text(meta.subspan(8 + 4 * rows)));
    const auto& config = options.as<mdstream::json::object>();
    require(mdstream::detail::check_stored_rows(data, meta, "", config) == rows);
  });
}

const mdstream::sample_layout& every_encoding() {
  static const mdstream::sample_layout layout = [] {
    std::vector<mdstream::column_spec> columns;
    int number = 0;
    for (const std::string_view name : mdstream::detail::mds_encoding_names)
      columns.push_back({"c" + std::to_string(100 + number++), std::string(name)});
    columns.push_back({"d", "ndarray:uint16"});
    columns.push_back({"e", "ndarray:float32:2,3"});
    return mdstream::sample_layout::mds(columns);
  }();
  return layout;
}

}  // namespace

void index(std::string_view input) {
  allow_refusal([&] {
    const auto index = mdstream::dataset_index::parse(input, {.allow_unsafe_types = true});
    for (std::size_t i = 0; i < index.shards() && i < 1000; ++i)
      for (std::size_t r = 0; r < mdstream::file_roles; ++r)
        if (const auto file = index.file(i, static_cast<mdstream::file_role>(r)))
          require(!mdstream::unsafe_file_name(file->name));
    (void)index.samples();
    merge(input, index.shards());
  });
}

void mds_shard(std::string_view input) {
  if (input.size() < 4) return;
  const auto bytes = as_bytes(input);
  static const mdstream::sample_layout text =
      mdstream::sample_layout::mds({{"id", "int"}, {"text", "str"}});
  allow_refusal([&] {
    const mdstream::mds_shard_view shard(bytes, mdstream::load<std::uint32_t>(bytes.data()));
    for (std::uint64_t i = 0; i < shard.size() && i < 12; ++i)
      for (const auto* layout : {&text, &every_encoding()})
        for (std::size_t c = 0; c < layout->size(); ++c)
          allow_refusal([&] { (void)mdstream::read_column(*layout, shard[i], c); });
  });
}

void row_shard(std::string_view input) {
  const auto meta = as_bytes(take_part(input));
  const auto data = as_bytes(input);
  static const std::vector<mdstream::shard_config> configs = [] {
    std::vector<mdstream::column_layout> columns;
    for (const std::string name : {"float", "int", "str"})
      columns.push_back({name.substr(0, 1) == "i" ? "n" : name.substr(0, 1), name,
                         *mdstream::find_cell_encoding(name), std::nullopt});
    using mdstream::shard_format;
    return std::vector<mdstream::shard_config>{
        {.layout = {shard_format::json, columns}, .newline = "\n"},
        {.layout = {shard_format::csv, columns}, .newline = "\n", .separator = ","},
        {.layout = {shard_format::xsv, columns}, .newline = "\r\n", .separator = "||"}};
  }();
  allow_refusal([&] {
    const std::uint64_t rows = meta.size() < 4 ? 0 : mdstream::load<std::uint32_t>(meta.data());
    const mdstream::detail::row_shard_view shard(data, meta, rows);
    check_stored(data, meta, rows);
    for (std::uint64_t i = 0; i < shard.size() && i < 40; ++i)
      for (const mdstream::shard_config& config : configs)
        for (std::size_t c = 0; c < config.layout.size(); ++c)
          allow_refusal([&] { (void)mdstream::read_column(config, shard[i], c); });
  });
}

void encoding(std::string_view input) {
  const std::string_view name = take_line(input);
  allow_refusal([&] {
    const mdstream::encoding type = mdstream::parse_encoding(name);
    require(mdstream::parse_encoding(mdstream::to_string(type)) == type);
    const mdstream::column_value value = mdstream::decode_value(type, as_bytes(input));
    // what can be read can be written; and what was written is read as the same
    const auto encode = [&](const mdstream::column_value& v) {
      return std::visit(
          [](const auto& part) {
            std::string out(part.size(), '\0');
            if (!out.empty()) part.copy_to(reinterpret_cast<std::byte*>(out.data()));
            return out;
          },
          mdstream::detail::encode_value(type, v));
    };
    const auto* array = std::get_if<mdstream::any_ndarray>(&value.get());
    if (array != nullptr && (array->rank() == 0 || array->size() == 0)) return;
    if (mdstream::scalar_dtype(type.kind) != mdstream::dtype::none &&
        input.size() != *mdstream::fixed_size(type))
      return;
    const std::string first = encode(value);
    require(encode(mdstream::decode_value(type, as_bytes(first))) == first);
  });
}

void json(std::string_view input) {
  allow_refusal([&] {
    const mdstream::json::value tree = mdstream::json::parse(input);
    const std::string text = mdstream::json::dump(tree);
    require(mdstream::json::dump(mdstream::json::parse(text)) == text);
    mdstream::json::reader in(input);
    (void)in.skip();
    in.finish();
  });
}

void pickle(std::string_view input) {
  allow_refusal([&] { (void)mdstream::read_pickle(as_bytes(input)); });
}

/// A shard whose size no index tells yet.
void unpack_stored(const mdstream::full_codec& codec, std::string_view name,
                   mdstream::bytes_view packed) {
  allow_refusal([&] {
    const auto opened = mdstream::detail::codec_set::of<mdstream::full_codec>().open(name);
    const std::vector<std::byte> plain = mdstream::detail::decompress_stored(*opened, packed);
    std::vector<std::byte> again(plain.size());
    mdstream::diagnostics where;
    require(!codec.decompress(packed, again, where) && again == plain);
  });
}

void codec(std::string_view input) {
  const std::string_view name = take_line(input);
  allow_refusal([&] {
    const auto codec = mdstream::full_codec::open(name);
    if (input.size() <= 4096) unpack_stored(codec, name, as_bytes(input));
    for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{65'536}}) {
      std::vector<std::byte> raw(size);
      mdstream::diagnostics where;
      const std::error_code whole = codec.decompress(as_bytes(input), raw, where);
      require(whole ? !where.what.empty() : true);
      mdstream::with_codec(codec, [&]<class Chosen>(const Chosen& chosen) {
        if constexpr (mdstream::block_codec<Chosen>) {
          std::size_t made = 0;
          const std::error_code blocks = chosen.decompress_blocks(
              as_bytes(input), size, [&](mdstream::bytes_view block) { made += block.size(); },
              where);
          // A frame may claim a window that only all of its bytes at once do not need.
          require(made <= size && (blocks || (!whole && made == size)));
        }
      });
    }
  });
}

/// What comes out until the data are refused, 1 MiB at most.
struct decoded_bytes {
  std::string out{};
  bool refused = true;
};
decoded_bytes decoded(mdstream::detail::stream_decoder& decoder, std::string_view packed) {
  constexpr std::size_t most = std::size_t{1} << 20;
  decoded_bytes all;
  std::string& out = all.out;
  allow_refusal([&] {
    std::vector<std::byte> room(5000);
    mdstream::bytes_view in = as_bytes(packed);
    for (std::size_t made = 1; out.size() < most && (made != 0 || !in.empty());) {
      made = decoder.decode(in, room);
      require(made <= room.size());
      out += mdstream::as_text(mdstream::bytes_view(room).first(made));
    }
    all.refused = false;
  });
  return all;
}

/// A state of any bytes makes something or is refused; from each entry point that is found comes
/// what came at first.
void entries(std::string_view input) {
  using namespace mdstream::detail;
  static const stream_decoders known{gz_stream(), zstd_stream()};
  const std::string_view key = take_line(input);
  if (!can_enter(known, key)) return;
  const mdstream::bytes_view state = as_bytes(take_part(input));
  allow_refusal([&] {
    (void)decoded(*enter_decoder(known, key, {1, 0, {state.begin(), state.end()}}), input);
  });
  const auto decoder = open_decoder(known, key);
  decoder->note_entries({1000, 0});
  const auto [plain, refused] = decoded(*decoder, input);
  for (const entry_point& each : decoder->take_entries()) {
    require(each.packed <= input.size());
    const std::string rest =
        decoded(*enter_decoder(known, key, each), input.substr(each.packed)).out;
    // Of data that are refused later on, the last piece is lost, which is another one here.
    const std::size_t after = plain.size() - std::min<std::size_t>(each.plain, plain.size());
    const std::size_t count = std::min(after, rest.size());
    require(count == after || refused || !decoder->may_end());
    require(rest.compare(0, count, plain, plain.size() - after, count) == 0);
  }
}

/// The state that a loss guard left in a checkpoint.
void guard_state(std::string_view text) {
  const mdstream::launch::loss_guard_options options{.window = 4, .batches = 3};
  allow_refusal([&] {
    mdstream::launch::loss_guard guard(options), again(options);
    (void)guard.load_state(text);
    require(guard.accepts(text));
    const std::string state = guard.state();
    require(!again.load_state(state) && again.state() == state);
    for (int i = 0; i < 10; ++i)
      if (guard.take()) (void)guard.judge(i == 7 ? std::nan("") : i);
    std::uint64_t end = 0;
    for (const auto& range : guard.left_out()) {
      require(range.begin < range.end && (end == 0 || range.begin > end));
      end = range.end;
    }
  });
}

/// Every second column is picked of the samples, which are then whole samples of these columns.
void pick_columns(const mdstream::sample_layout& layout, const mdstream::mds_shard_view& shard) {
  std::vector<mdstream::column_layout> columns;
  for (std::size_t k = 0; k < layout.size(); k += 2) columns.push_back(layout[k]);
  const mdstream::sample_layout wanted(mdstream::shard_format::mds, std::move(columns));
  const mdstream::detail::column_picks picks(layout, wanted);
  for (std::size_t i = 0; i < shard.size() && i < 64; ++i) {
    std::vector<std::byte> out;
    bool picked = false;
    allow_refusal([&] {
      layout.check(shard[i]);
      picks.append(layout, wanted, shard[i], out);
      picked = true;
    });
    bool whole = !picked;
    allow_refusal([&] {
      if (picked) wanted.check(out);
      whole = true;
    });
    require(whole);
  }
}

void collate(std::string_view input) {
  const std::string_view index_text = take_part(input);
  allow_refusal([&] {
    const auto index = mdstream::dataset_index::parse(index_text, {.allow_unsafe_types = true});
    for (std::size_t i = 0; i < index.shards() && i < 8; ++i) {
      if (index.format(i) != mdstream::shard_format::mds) continue;
      allow_refusal([&] {
        const auto& layout = index.layout(i);
        const mdstream::mds_shard_view shard(as_bytes(input), index.shard_samples(i));
        pick_columns(layout, shard);
        check_stored(layout, as_bytes(input), shard);
        try {
          collate_shard(layout, shard);
        } catch (const mdstream::collate::detail::bad_sample&) {
        }
      });
    }
  });
}

void state(std::string_view input) {
  allow_refusal([&] {
    const std::string text = mdstream::to_text(mdstream::parse_state(input));
    require(mdstream::to_text(mdstream::parse_state(text)) == text);
  });
}

void typed_json(std::string_view input) {
  mdstream::detail::sample_encoder encoder(every_encoding());
  for (const bool typed : {true, false})
    allow_refusal([&] {
      const cli::input_sample sample(every_encoding(), input, typed);
      for (const mdstream::named_value& each : sample.values())
        allow_refusal([&] {
          const auto& type = every_encoding()[every_encoding().at(each.name)].type;
          (void)mdstream::detail::encode_value(type, each.value);
        });
      encoder.encode(sample.values().data(), sample.values().size());
      std::vector<std::byte> out(encoder.size());
      encoder.copy_to(out.data());
      every_encoding().check(out);
    });
}

void uri(std::string_view input) {
  allow_refusal([&] {
    const mdstream::net::uri url = mdstream::net::parse_uri(input);
    require(!url.host.empty() && (url.path.empty() || url.path.front() == '/'));
    require(mdstream::net::percent_decode(url.path).has_value());
    const std::string shown = mdstream::net::public_form(url);
    require(mdstream::net::public_form(mdstream::net::parse_uri(shown)) == shown);
  });
}

void xml(std::string_view input) {
  allow_refusal([&] {
    mdstream::net::xml_reader in(input);
    (void)in.begin();
    in.skip();
    in.finish();
  });
  allow_refusal([&] {  // every child is asked for its text
    mdstream::net::xml_reader in(input);
    (void)in.begin();
    while (in.next_child()) require(in.text().size() <= input.size());
    in.finish();
  });
}

void answer(std::string_view input) {
  allow_refusal([&] {
    namespace net = mdstream::net;
    const auto parsed = answer_of(input);
    if (!parsed) return;
    const net::http_response& head = *parsed;
    const mdstream::detail::range_question asked{10, 100, mdstream::object_version{1000, "\"a\""}};
    mdstream::detail::range_promise promise;
    mdstream::diagnostics about;
    const auto refused = mdstream::detail::check_range(asked, head, promise, about);
    require(refused ? !about.what.empty() : head.status == 200 || head.status == 206);
    if (!refused) require(promise.expected.value_or(0) <= asked.count);
    if (!refused && promise.found.bytes != 0) require(promise.found.bytes == 1000);
    (void)mdstream::detail::check_beyond_end(asked, mdstream::detail::object_bytes(head), about);
    mdstream::diagnostics where;
    (void)net::failure_of(head, "http://host/key?signature=secret", where);
    require(where.url.find("secret") == std::string::npos);
    require(!where.retry_after || where.retry_after->count() >= 0);
  });
}

void safetensors(std::string_view input) {
  const auto bytes = as_bytes(input);
  allow_refusal([&] {
    using namespace mdstream::detail;
    const auto size = static_cast<std::size_t>(safetensors_head_bytes(bytes, bytes.size()));
    safetensors_head head = read_safetensors(bytes.first(size), bytes.size());
    std::uint64_t end = 0;
    for (const safetensors_entry& each : head.tensors) {
      require(each.begin == end && each.end >= end);
      end = each.end;
    }
    require(head.data_at + end == bytes.size());
    // What can be read can be written, and is read as the same.
    const std::string text = write_safetensors(head.tensors, head.metadata);
    head.data_at = text.size();
    require(read_safetensors(as_bytes(text), text.size() + end) == head);
  });
  allow_refusal([&] {
    using namespace mdstream::detail;
    const sharded_index index = read_sharded_index(input);
    require(read_sharded_index(write_sharded_index(index)) == index);
  });
}

void run_text(std::string_view input) {
  using namespace mdstream::detail;
  const std::string_view kind = take_line(input);
  if (kind == "guard") return guard_state(input);
  // With a right checksum, or nothing would come past it.
  std::string text = begin_sealed(kind);
  text += input;
  seal(text);
  const save_id id{{1, 2}, 3};
  allow_refusal([&] {
    if (kind == "layout") {
      const data_layout made = read_layout(text);
      require(read_layout(write_layout(made)) == made);
      for (const stored_tensor& each : made.tensors)
        for (std::size_t i = 0; i < each.pieces.size(); ++i)
          require(lies_within(each.box_of(i), each.shape));
    } else if (kind == "record") {
      const rank_record made = read_record(text, id, 0);
      require(read_record(write_record(made), id, 0) == made);
    } else if (kind == "manifest") {
      const checkpoint_manifest made = read_manifest(text, id);
      require(read_manifest(write_manifest(made), id) == made);
    } else if (kind == "start") {
      const start_record made = read_start(text, std::nullopt);
      require(read_start(write_start(made), made.id) == made);
    }
  });
  allow_refusal([&] { (void)read_layout(input); });
}

}  // namespace fuzz
