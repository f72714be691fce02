#pragma once

/// WebDataset: tar archives whose neighbouring files of one name are a sample.

#include <mdstream/raw/detail/file_value.hpp>
#include <mdstream/raw/detail/json_row.hpp>
#include <mdstream/raw/detail/tar.hpp>
#include <mdstream/raw/format.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::raw {

namespace detail {

/// A file's name taken apart, as WebDataset does: up to the first point of its last part, and the
/// lower-case rest.
struct member_name {
  std::string_view key{};
  std::string field{};
};

/// Nothing where the file belongs to no sample: it has no extension, or a part as `__meta__`.
[[nodiscard]] inline std::optional<member_name> split_member_name(std::string_view name) {
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

}  // namespace detail

/// Regular files are fields of samples; links, directories and what WebDataset skips are skipped,
/// hard links and sparse files refused. A key that comes again later is another sample; a field
/// twice in one is an error. Columns are fields; their encodings go by the last extension;
/// `__key__` is the key.
class webdataset {
 public:
  static constexpr std::string_view name = "webdataset";

  [[nodiscard]] std::uint64_t cut(const window& in, cut_sink& out) {
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
      if (const auto split =
              found->is_file ? detail::split_member_name(found->name) : std::nullopt) {
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

  void infer(const window& in, column_inference& out) const {
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
    while (at < in.bytes.size() && rows < column_inference::rows_of_an_object) {
      const auto found = detail::tar_reader::read(in, at);
      is_end = found && found->is_end;
      if (!found || is_end) break;
      const auto split = found->is_file ? detail::split_member_name(found->name) : std::nullopt;
      if (split) {
        if (split->key != key) add();
        key = split->key;
        fields.push_back(split->field);
      }
      at = found->end - in.offset;
    }
    if (is_end || (in.last && at >= in.bytes.size())) add();  // else it may go on
  }

  void transcode(const cut_source& in, sample_sink& out) const {
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

 private:
  struct member {
    std::string field{};
    std::uint64_t begin = 0;
    bytes_view data{};
  };

  static void add(const std::string& key, const std::vector<member>& members, sample_sink& out) {
    out.row(members.front().begin, [&] {
      detail::row_values& values = out.values();
      values.clear();
      for (std::size_t m = 0; m < members.size(); ++m)
        for (std::size_t k = 0; k < m; ++k)
          if (members[k].field == members[m].field)
            fail(key, members[m], members.front(),
                 "has the field \"" + members[m].field + "\" twice");
      for (std::size_t i = 0; i < out.layout().size(); ++i) {
        const std::string& column = out.layout()[i].name;
        if (column == "__key__") {
          detail::set_text_value(out.layout(), i, key, values);
          continue;
        }
        const member* found = nullptr;
        for (const member& each : members)
          if (each.field == column) found = &each;
        if (found != nullptr)
          detail::set_file_value(out.layout(), i, found->data, values);
        else if (out.null_value())
          detail::set_null_value(*out.null_value(), out.layout(), i, values);
        else
          fail(key, members.front(), members.front(), "has no field \"" + column + '"');
      }
      out.add_values();
    });
  }

  [[noreturn]] static void fail(const std::string& key, const member& at, const member& first,
                                const std::string& what) {
    throw error(errc::corrupt, diagnostics{.what = "the sample \"" + key + "\" " + what,
                                           .byte = at.begin - first.begin});
  }

  std::string key_;  // of the sample that is read
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;  // of its last file; 0: there is none
};

}  // namespace mdstream::inline v0::raw
