#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/raw/detail/file_value.hpp>
#include <mdstream/raw/detail/json_row.hpp>
#include <mdstream/raw/detail/tar.hpp>
#include <mdstream/raw/detail/text_value.hpp>
#include <mdstream/raw/webdataset.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <map>
#include <utility>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE std::optional<member_name> split_member_name(std::string_view name) {
  for (std::string_view rest = name; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    // `__[^/]*__` may begin anywhere, and ends a part
    if (const std::size_t first = part.find("__");
        first != std::string_view::npos && part.size() >= first + 4 && part.ends_with("__"))
      return std::nullopt;
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
  const std::size_t slash = name.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t point = name.find('.', base);
  if (point == std::string_view::npos) return std::nullopt;
  if (point == base) {  // the directory's name is the key's last part, unless it has a point
    if (base == 0) return std::nullopt;
    const std::size_t parent = slash == 0 ? std::string_view::npos : name.rfind('/', slash - 1);
    const std::size_t begin = parent == std::string_view::npos ? 0 : parent + 1;
    if (name.substr(begin, slash - begin).find('.') != std::string_view::npos) return std::nullopt;
  }
  return member_name{name.substr(0, point), lower_case(name.substr(point + 1))};
}

}  // namespace mdstream::inline v0::raw::detail

namespace mdstream::inline v0::raw {

MDSTREAM_INLINE std::uint64_t webdataset::cut(const window& in, cut_sink& out) {
  std::uint64_t at = 0;
  while (true) {
    const auto found = detail::tar_reader::read(in, at);
    if (!found) return at;
    if (found->is_end) {
      if (end_ > 0) (void)out.sample(begin_, end_);
      end_ = 0;
      out.end();
      return in.bytes.size();
    }
    if (const auto split = found->is_file ? detail::split_member_name(found->name) : std::nullopt) {
      if (end_ > 0 && split->key != key_ && !out.sample(begin_, end_)) return at;
      if (end_ == 0 || split->key != key_) {
        key_ = split->key;
        begin_ = found->begin;
      }
      end_ = found->end;
    }
    at = found->end - in.offset;  // may lie beyond the window
    if (at >= in.bytes.size() && !in.last) return at;
  }
}

MDSTREAM_INLINE void webdataset::infer(const window& in, detail::column_inference& out) const {
  std::string key;
  std::uint64_t at = 0, rows = 0;
  bool is_end = false;
  std::vector<std::string> fields;
  const auto add = [&] {
    if (fields.empty()) return;
    out.add_row();
    ++rows;
    out.add("__key__", "str");
    for (const std::string& each : fields)
      out.add(each, detail::encoding_of_extension(each.substr(each.rfind('.') + 1)));
    fields.clear();
  };
  while (at < in.bytes.size() && rows < detail::column_inference::rows_of_an_object) {
    const auto found = detail::tar_reader::read(in, at);
    is_end = found && found->is_end;
    if (!found || is_end) break;
    const auto split = found->is_file ? detail::split_member_name(found->name) : std::nullopt;
    if (split) {
      if (split->key != key) add();
      if (mdstream::detail::first_invalid_utf8(split->field) != split->field.size())
        throw error(errc::corrupt,
                    diagnostics{.what = "the name of a field is not UTF-8", .byte = found->begin});
      key = split->key;
      fields.push_back(split->field);
    }
    at = found->end - in.offset;
  }
  if (is_end || (in.last && at >= in.bytes.size())) add();  // else it may go on
}

MDSTREAM_INLINE void webdataset::transcode(const cut_source& in, detail::sample_sink& out) const {
  const window all{in.first().offset, in.bytes(), true, std::nullopt};
  std::uint64_t at = 0;
  std::vector<member> members;
  std::string key;
  while (true) {
    auto next = detail::tar_reader::read(all, at);
    auto split = next && next->is_file ? detail::split_member_name(next->name) : std::nullopt;
    const bool ends = !next || next->is_end;
    if (!members.empty() && (ends || (split && split->key != key))) {
      add(key, members, out);
      members.clear();
    }
    if (ends) return;
    if (split) {
      key = split->key;
      members.push_back({std::move(split->field), next->begin,
                         in.bytes().subspan(static_cast<std::size_t>(next->data - all.offset),
                                            static_cast<std::size_t>(next->size))});
    }
    at = next->end - all.offset;
  }
}

MDSTREAM_INLINE void webdataset::add(const std::string& key, const std::vector<member>& members,
                                     detail::sample_sink& out) {
  out.row(members.front().begin, [&] {
    detail::row_values& values = out.values();
    values.clear();
    std::map<std::string_view, const member*> by_field;
    for (const member& each : members)
      if (!by_field.emplace(each.field, &each).second)
        fail(key, each, members.front(), "has the field \"" + each.field + "\" twice");
    for (std::size_t i = 0; i < out.layout().size(); ++i) {
      const std::string& column = out.layout()[i].name;
      if (column == "__key__") {
        detail::set_text_value(out.layout(), i, key, values);
        continue;
      }
      const auto found = by_field.find(column);
      if (found != by_field.end())
        detail::set_file_value(out.layout(), i, found->second->data, values);
      else if (out.null_value())
        detail::set_null_value(*out.null_value(), out.layout(), i, values);
      else
        fail(key, members.front(), members.front(), "has no field \"" + column + '"');
    }
    out.add_values();
  });
}

MDSTREAM_INLINE void webdataset::fail(const std::string& key, const member& at, const member& first,
                                      const std::string& what) {
  throw error(errc::corrupt, diagnostics{.what = "the sample \"" + key + "\" " + what,
                                         .byte = at.begin - first.begin});
}

}  // namespace mdstream::inline v0::raw
