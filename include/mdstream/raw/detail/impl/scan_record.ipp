#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/raw/detail/scan_record.hpp>
#include <mdstream/version.hpp>

#include <utility>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE std::string scan_records_head(const options& about) {
  return json::dump(json::object{{"mdstream", "scan records"},
                                 {"version", row_index::version},
                                 {"options", detail::json_of(about)}}) +
         '\n';
}

MDSTREAM_INLINE void append_scan_record(std::string& out, const scan_record& each) {
  json::object line{{"object", detail::json_of(each.file)}};
  if (each.beside) line.emplace_back("beside", detail::json_of(*each.beside));
  line.emplace_back("stretch", each.stretch);
  line.emplace_back("note", each.found.note);
  json::array cuts;
  for (const cut& one : each.found.cuts) cuts.push_back(detail::json_of(one));
  line.emplace_back("cuts", std::move(cuts));
  line.emplace_back("columns", each.columns.dump());
  line.emplace_back("skipped", each.skipped);
  json::append_value(out, line);
  out += '\n';
}

MDSTREAM_INLINE std::vector<scan_record> parse_scan_records(std::string_view text,
                                                            const options& about) {
  std::vector<scan_record> out;
  const std::string head = scan_records_head(about);
  if (!text.starts_with(head)) return out;
  text.remove_prefix(head.size());
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) throw error(errc::corrupt, "the records are cut short");
    const json::value line = json::parse(text.substr(0, end));
    text.remove_prefix(end + 1);
    scan_record each{.file = detail::object_of(line.at("object")),
                     .stretch = line.get<std::uint64_t>("stretch"),
                     .columns = column_inference::parse(line.at("columns")),
                     .skipped = line.get<std::uint64_t>("skipped")};
    if (const json::value* beside = line.find("beside")) each.beside = detail::object_of(*beside);
    each.found.note = line.get<std::string>("note");
    for (const json::value& one : line.get<json::array>("cuts"))
      each.found.cuts.push_back(detail::cut_of(one));
    detail::check_cuts(each.found.cuts, about.shard_bytes.value);
    out.push_back(std::move(each));
  }
  return out;
}

}  // namespace mdstream::inline v0::raw::detail
