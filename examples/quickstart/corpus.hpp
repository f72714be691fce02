#pragma once

/// Finds text files, keeps every one whose content is new, and cuts them into rows of equal length.

#include <mdstream/core/fnv.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace quickstart {

/// Bytes of a row: one sample of the dataset.
inline constexpr std::size_t row_bytes = 128;

struct corpus_source {
  std::string name;
  std::vector<std::filesystem::path> folders;
  std::function<bool(const std::filesystem::path&)> takes;  // asked for each regular file
};

/// Training rows, and those of held-out files: one file in ten, chosen by its content, so that no
/// text stands on both sides. Rows lie one after another.
struct corpus {
  std::vector<std::uint8_t> train, held_out;

  [[nodiscard]] static std::span<const std::uint8_t, row_bytes> row(
      const std::vector<std::uint8_t>& rows, std::size_t i) {
    return std::span<const std::uint8_t, row_bytes>(&rows[i * row_bytes], row_bytes);
  }
};

struct corpus_limits {
  std::size_t least = 1'000'000;    // bytes of training text; less is refused
  std::size_t most = 8'000'000;     // bytes of training text; the rest is left aside
  std::size_t of_a_file = 100'000;  // bytes, so that no single file dominates
};

namespace detail {

inline std::string read_text(const std::filesystem::path& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(file.gcount()));
  // A NUL is what text never holds; it also ends a document below.
  if (text.find('\0') != std::string::npos) text.clear();
  return text;
}

inline std::vector<std::filesystem::path> files_below(const corpus_source& source) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (const fs::path& folder : source.folders) {
    std::error_code error;
    fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                        error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      std::error_code ignored;
      if (at->is_symlink(ignored) || !at->is_regular_file(ignored)) continue;
      if (source.takes(at->path())) files.push_back(at->path());
    }
  }
  return files;
}

inline std::string folder_names(const corpus_source& source) {
  std::string names;
  for (const auto& folder : source.folders) {
    names += (names.empty() ? "" : ", ") + folder.string();
  }
  return names;
}

}  // namespace detail

/// Reads a corpus. The same files give the same rows in the same order, whatever order the file
/// system lists them in. Throws std::runtime_error that says where it looked when there is too
/// little.
[[nodiscard]] inline corpus collect(const corpus_source& source, const corpus_limits& limits) {
  std::vector<std::filesystem::path> files = detail::files_below(source);
  // In the order of a hash of their names: a mix of all folders, not the alphabet's first ones.
  const auto hash = [](std::string_view text) { return mdstream::fnv1a{}.add(text).value(); };
  std::sort(files.begin(), files.end(), [&](const auto& a, const auto& b) {
    const auto ha = hash(a.native()), hb = hash(b.native());
    return ha != hb ? ha < hb : a < b;
  });

  corpus rows;
  std::unordered_set<std::uint64_t> seen;
  for (const auto& file : files) {
    if (rows.train.size() >= limits.most) break;
    std::string text = detail::read_text(file, limits.of_a_file);
    const std::uint64_t content = hash(text);
    if (text.empty() || !seen.insert(content).second) continue;
    text.push_back('\0');
    text.resize((text.size() + row_bytes - 1) / row_bytes * row_bytes, '\0');
    auto& side = content % 10 == 0 ? rows.held_out : rows.train;
    side.insert(side.end(), text.begin(), text.end());
  }
  if (rows.train.size() < limits.least || rows.held_out.size() < limits.least / 100) {
    throw std::runtime_error(
        "the corpus '" + source.name + "' is too small: " + std::to_string(rows.train.size()) +
        " bytes of text in " + std::to_string(seen.size()) + " different files below " +
        detail::folder_names(source) + ", but " + std::to_string(limits.least) +
        " are needed; name other folders with --" + source.name + " FOLDER");
  }
  return rows;
}

/// Licences, manuals, help and change logs as Debian installs them.
[[nodiscard]] inline bool is_prose(const std::filesystem::path& path) {
  static const std::unordered_set<std::string> endings = {".txt", ".rst",  ".md",  ".pod",
                                                          ".tex", ".html", ".texi"};
  static const std::unordered_set<std::string> names = {"copyright", "README", "NEWS", "CHANGES",
                                                        "AUTHORS",   "THANKS", "TODO", "FAQ"};
  return endings.contains(path.extension().string()) || names.contains(path.filename().string()) ||
         path.parent_path().filename() == "common-licenses";
}

/// Headers of C and C++, the standard library's without an ending among them.
[[nodiscard]] inline bool is_code(const std::filesystem::path& path) {
  static const std::unordered_set<std::string> endings = {
      "", ".h", ".hh", ".hpp", ".hxx", ".ipp", ".tcc", ".inl", ".c", ".cc", ".cpp"};
  return endings.contains(path.extension().string());
}

}  // namespace quickstart
