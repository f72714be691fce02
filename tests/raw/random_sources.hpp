#pragma once

// Sources of every format with random content.

#include <mdstream/raw/detail/tar.hpp>
#include <mdstream/raw/options.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "raw/raw_source.hpp"

namespace raw_test {

struct random_source {
  mdstream::raw::options about{};
  source objects{};
  std::uint64_t rows = 0;
};

/// Text without line ends, sometimes long, sometimes with quotes and more than ASCII.
inline std::string random_text(std::mt19937& random, std::size_t most = 60) {
  static constexpr std::array pieces{"a",        "bc",           " ", "\"", ",",
                                     "\xC3\xA9", "\xE2\x82\xAC", "7", "{",  "\\"};
  std::string out;
  for (auto n = random() % most; n > 0; --n) out += pieces[random() % pieces.size()];
  return out;
}

inline std::string line_end(std::mt19937& random) { return random() % 3 == 0 ? "\r\n" : "\n"; }

/// A header and data of a tar member, as ustar.
inline std::string tar_member(const std::string& name, const std::string& data, char type = '0') {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  put(0, name);
  put(100, "0000644");
  char size[13];
  std::snprintf(size, sizeof size, "%011zo", data.size());
  put(124, size);
  put(148, "        ");
  header[156] = type;
  put(257, std::string("ustar\0"
                       "00",
                       8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  put(148, std::string(digits, 7));
  return header + data + std::string((512 - data.size() % 512) % 512, '\0');
}

inline std::vector<random_source> random_sources(std::mt19937& random) {
  std::vector<random_source> out;
  const auto coin = [&](unsigned n) { return random() % n == 0; };
  const auto mark = [&] { return std::string(coin(3) ? "\xEF\xBB\xBF" : ""); };
  const auto key = [](const char* end, int i) { return "part-" + std::to_string(i) + end; };

  const auto blanks = [&] {
    std::string some;
    while (coin(2)) some += " \t\r"[random() % 3];
    return some;
  };
  random_source jsonl{.about = {.format = "jsonl"}};
  for (int o = 0; o < 3; ++o) {
    std::string text = mark();
    while (coin(5)) text += blanks() + line_end(random);
    for (auto n = 1 + random() % 40; n > 0; --n, ++jsonl.rows) {
      std::string value;
      mdstream::json::append_string(value, random_text(random));
      text += "{\"text\": " + value + ", \"n\":" + std::to_string(random() % 1000) +
              ",\"r\": 1.5e" + std::to_string(random() % 9) + ", \"list\": [1, {\"a\": null}]}";
      if (n > 1 || coin(2)) text += line_end(random);
      while (n > 1 && coin(5)) text += blanks() + line_end(random);
    }
    if (text.ends_with('\n')) text += blanks();
    jsonl.objects[key(".jsonl", o)] = text;
  }
  out.push_back(jsonl);

  for (const char* unit : {"line", "paragraph"}) {
    random_source text{.about = {.format = "text", .unit = unit}};
    const bool lines = std::string(unit) == "line";
    for (int o = 0; o < 3; ++o) {
      std::string all = mark();
      while (coin(2)) all += line_end(random);
      for (auto n = random() % 40; n > 0; --n, ++text.rows) {
        for (auto k = lines ? 1 : 1 + random() % 3; k > 0; --k) {
          all += 'x' + random_text(random);
          if (n > 1 || k > 1 || coin(2)) all += line_end(random);
        }
        if (!lines && n > 1) all += line_end(random);
        while (n > 1 && coin(3)) all += line_end(random);
      }
      text.objects[key(".txt", o)] = all;
    }
    if (text.rows > 0) out.push_back(text);
  }

  random_source csv{.about = {.format = "csv"}};
  for (int o = 0; o < 3; ++o) {
    std::string text = mark() + (coin(2) ? "id,text,\"a \"\"b\"\"\"" : "text,\"a \"\"b\"\"\",id");
    text += line_end(random);
    for (auto n = random() % 40; n > 0; --n, ++csv.rows) {
      for (int k = 0; k < 3; ++k) {
        std::string field = "\"";
        for (const char c : random_text(random, 20)) {
          if (c == '"') field += c;
          field += c;
          if ((c == 'a' || c == ',') && coin(20)) field += line_end(random);
        }
        text += (k > 0 ? "," : "") + (coin(2) ? field + '"' : std::to_string(n));
      }
      if (n > 1 || coin(2)) text += line_end(random);
    }
    csv.objects[key(".csv", o)] = text;
  }
  if (csv.rows > 0) out.push_back(csv);

  random_source tar{.about = {.format = "webdataset"}};
  for (int o = 0; o < 3; ++o) {
    std::string all;
    for (auto n = 1 + random() % 10; n > 0; --n, ++tar.rows) {
      const std::string name = "d.x/" + std::to_string(n);
      if (coin(4)) all += tar_member("d.x/", "", '5');
      all += tar_member(name + ".Txt", 'x' + random_text(random, 900));
      if (coin(4)) all += tar_member("d.x/__skip__", "abc");
      all += tar_member(name + ".cls", std::to_string(random() % 1000) + "\n");
    }
    if (!coin(3)) all += std::string(coin(2) ? 1024 : 10240, '\0');
    tar.objects[key(".tar", o)] = all;
  }
  out.push_back(tar);

  for (const char* format : {"files", "images"}) {
    random_source files{.about = {.format = format}};
    for (auto n = 1 + random() % 40; n > 0; --n, ++files.rows)
      files.objects["class-" + std::to_string(random() % 3) + '/' + std::to_string(n) + ".bin"] =
          'x' + random_text(random, 100);
    out.push_back(files);
  }

  const auto token_bytes = [&](std::size_t n, bool wide, std::vector<std::uint64_t>* separators) {
    std::string all;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t id =
          separators != nullptr && coin(9) ? 7 : 10 + static_cast<std::uint32_t>(random() % 1000);
      if (id == 7 && separators != nullptr) separators->push_back(i);
      all.append(reinterpret_cast<const char*>(&id), wide ? 4 : 2);
    }
    return all;
  };
  random_source windows{.about = {.format = "tokens"}};
  windows.about.window = 1 + random() % 20;
  windows.about.stride = 1 + random() % 20;
  windows.about.dtype = "uint16";
  for (int o = 0; o < 3; ++o) {
    const std::size_t n = random() % 300;
    windows.objects[key(".bin", o)] = token_bytes(n, false, nullptr);
    if (n >= windows.about.window)
      windows.rows += (n - windows.about.window) / windows.about.stride + 1;
  }
  if (windows.rows > 0) out.push_back(windows);

  random_source documents{.about = {.format = "tokens"}};
  documents.about.document_token = 7;
  documents.about.document_token_last = coin(2);
  for (int o = 0; o < 2; ++o) {
    const std::uint32_t n = 1 + static_cast<std::uint32_t>(random() % 300);
    std::vector<std::uint64_t> at;
    const std::string ids = token_bytes(n, true, &at);
    std::array<std::uint32_t, 256> header{20240801, 7, n};
    documents.objects[key(".bin", o)] =
        std::string(reinterpret_cast<const char*>(header.data()), 1024) + ids;
    const bool last = documents.about.document_token_last;
    documents.rows +=
        at.size() + (last ? at.empty() || at.back() + 1 < n : at.empty() || at[0] > 0);
  }
  out.push_back(documents);

  random_source megatron{.about = {.format = "tokens"}};
  for (int o = 0; o < 2; ++o) {
    std::string lengths, pointers, bounds(8, '\0'), data;
    std::uint64_t sequences = 0, documents_found = 1;
    const auto put = [](std::string& to, auto value) {
      to.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    for (auto n = 1 + random() % 30; n > 0; --n, ++documents_found) {
      std::size_t tokens = 0;
      for (auto k = random() % 3; k > 0; --k, ++sequences) {
        const auto length = static_cast<std::int32_t>(random() % 30);
        put(lengths, length);
        put(pointers, static_cast<std::int64_t>(data.size()));
        data += token_bytes(static_cast<std::size_t>(length), false, nullptr);
        tokens += static_cast<std::size_t>(length);
      }
      put(bounds, static_cast<std::int64_t>(sequences));
      megatron.rows += tokens > 0 ? 1 : 0;
    }
    std::string idx("MMIDIDX\0\0", 9);
    put(idx, std::uint64_t{1});
    put(idx, std::uint8_t{8});
    put(idx, sequences);
    put(idx, documents_found);
    megatron.objects[key(".idx", o)] = idx + lengths + pointers + bounds;
    megatron.objects[key(".bin", o)] = data;
  }
  if (megatron.rows > 0) out.push_back(megatron);
  return out;
}

}  // namespace raw_test
