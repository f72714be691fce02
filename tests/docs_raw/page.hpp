#pragma once

// Files of every format that docs/raw.md has an example of, and what the examples have to find.

#include <mdstream/codec/gz.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/source/formats.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "raw/random_sources.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/golden_file.hpp"
#include "support/temporary_in.hpp"

namespace mds = mdstream;

namespace docs_raw {

class page {
 public:
  page() {
    put("c4/en/0.json.gz", packed(R"({"text": "one", "meta": {"url": "a"}, "x": 1})"
                                  "\n"
                                  R"({"text": "two", "meta": {"url": "b"}})"));
    put("c4/fr/0.json.gz", packed(R"({"text": "un"})"));
    put("books/1.txt", "a b\nc\n\nd\n");
    put("labels/1.csv", "text,label\n\"a, b\",7\nc,8\n");
    for (const char* key : {"pictures/train-000.tar", "pictures/train-001.tar"})
      put(key, raw_test::tar_member("1.jpg", "pixels") + raw_test::tar_member("1.txt", "a cat"));
    put("speech/x/1.flac", "sound");
    put("speech/README", "none");
    put("imagenet/train/cat/1.png", "pixels");
    put("imagenet/train/dog/1.png", "pixels");
    std::string tokens(1024, '\0');
    const std::int32_t head[] = {20240520, 1, 2049};
    tokens.replace(0, sizeof head, std::string(reinterpret_cast<const char*>(head), sizeof head));
    for (std::uint16_t i = 0; i < 2049; ++i)
      tokens.append(reinterpret_cast<const char*>(&i), sizeof i);
    put("fineweb/train.bin", tokens);
    std::filesystem::create_directories(files_ / "rows");
    std::filesystem::copy(support::golden_file("raw/pyarrow-v2.parquet"),
                          files_ / "rows/0000.parquet");
  }

  /// Where the files of a URL lie, and a place for the cache.
  [[nodiscard]] std::string at(std::string_view url) const {
    for (const std::string_view root : {"s3://bucket/", "/mnt/"})
      if (url.starts_with(root)) return files_ / std::string(url.substr(root.size()));
    return files_ / "cache";
  }

 private:
  static std::string packed(std::string_view text) {
    return std::string(mds::as_text(mds::codec::gz(1).compress(mds::as_bytes(text))));
  }
  void put(const std::string& key, const std::string& bytes) const {
    const std::filesystem::path path = files_ / key;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }

  scratch_directory::scratch files_;
  support::temporary_in temporary_files_{files_.path()};
};

template <class Data>
void check_jsonl(const Data& data, std::string_view text) {
  CHECK(data.size() == 2);
  CHECK(text == "one");
  const auto second = data[1];
  CHECK(second.template get<std::string_view>("url") == "b");
}
template <class Data>
void check_text(const Data& data, std::string_view text) {
  CHECK(data.size() == 2);
  CHECK(text == "a b\nc");
}
template <class Data>
void check_csv(const Data& data, std::int64_t label) {
  CHECK(data.size() == 2);
  CHECK(label == 7);
}
template <class Data>
void check_webdataset(const Data& data, std::string_view caption) {
  CHECK(data.size() == 2);
  CHECK(caption == "a cat");
}
template <class Data>
void check_files(const Data& data, mds::bytes_view sound) {
  CHECK(data.size() == 1);
  CHECK(mds::as_text(sound) == "sound");
}
template <class Data>
void check_images(const Data& data, std::int64_t label) {
  CHECK(data.size() == 2);
  CHECK(label == 0);
  const auto second = data[1];
  CHECK(second.template get<std::int64_t>("label") == 1);
}
template <class Data, class Tokens>
void check_tokens(const Data& data, const Tokens& tokens) {
  CHECK(data.size() == 2);
  REQUIRE(tokens.size() == 1025);
  CHECK(tokens[1024] == 1024);
}
template <class Data, class Tokens>
void check_files_in_place(const Data& data, const Tokens& tokens) {
  CHECK(data.size() == 1025);
  CHECK(tokens.size() == 1025);
  CHECK(data[7].template get<mds::unaligned_view<std::uint16_t>>("tokens")[1] == 8);
}

}  // namespace docs_raw
