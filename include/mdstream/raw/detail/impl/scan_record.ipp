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
  out += R"({"object": )";
  append_json(out, each.file);
  if (each.beside) append_json(out += R"(, "beside": )", *each.beside);
  out += R"(, "stretch": )" + std::to_string(each.stretch);
  json::append_string(out += R"(, "note": )", each.found.note);
  append_json(out += R"(, "cuts": )", each.found.cuts);
  if (each.found.entries) append_object_entries(out += R"(, "entries": )", *each.found.entries);
  json::append_value(out += R"(, "columns": )", each.columns.dump());
  out += R"(, "skipped": )" + std::to_string(each.skipped) + '}';
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
    json::reader in(text.substr(0, end));
    text.remove_prefix(end + 1);
    scan_record each;
    in.begin_object();
    while (const auto key = in.next_key()) {
      if (*key == "object")
        each.file = read_object(in);
      else if (*key == "beside")
        each.beside = read_object(in);
      else if (*key == "stretch")
        each.stretch = in.unsigned_integer();
      else if (*key == "note")
        each.found.note = in.string();
      else if (*key == "cuts")
        each.found.cuts = read_cuts(in);
      else if (*key == "entries")
        each.found.entries = read_entries(in, each.file.key, each.file.bytes);
      else if (*key == "columns")
        each.columns = column_inference::parse(json::parse(in.skip()));
      else if (*key == "skipped")
        each.skipped = in.unsigned_integer();
      else
        in.skip();
    }
    in.finish();
    detail::check_cuts(each.found.cuts, about.shard_bytes.value);
    out.push_back(std::move(each));
  }
  return out;
}

}  // namespace mdstream::inline v0::raw::detail
