// Streams TFRecord files as they lie: own_format DIRECTORY. Without files there, writes some first.

#include <mdstream/codec/gz.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/source/formats.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

#include "tfrecord.hpp"

namespace mds = mdstream;

using policies =
    mds::policies<mds::raw::any_format<tfrecord>, mds::any_codec<mds::codec::none, mds::codec::gz>,
                  mds::collate::none>;

static void write_records(const std::string& path, int count) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  const auto put = [&](auto value) {
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (int i = 0; i < count; ++i) {
    const std::string data = "record " + std::to_string(i);
    const auto length = static_cast<std::uint64_t>(data.size());
    put(length);
    put(tfrecord::masked_crc(std::as_bytes(std::span(&length, 1))));
    file << data;
    put(tfrecord::masked_crc(mds::as_bytes(data)));
  }
}

int main(int count, char** words) try {
  if (count != 2) return std::fputs("own_format DIRECTORY\n", stderr), 2;
  const std::string files = std::string(words[1]) + "/files";
  if (!std::filesystem::exists(files)) write_records(files + "/a.tfrecord", 1000);
  mds::loader<policies> loader({
      .streams = {{.remote = files, .raw = {.format = "tfrecord"}}},
      .local = std::string(words[1]) + "/cache",
      .batch_size = 32,
  });
  std::uint64_t records = 0, bytes = 0;
  for (const auto& batch : loader.epoch()) {
    for (std::size_t i = 0; i < batch.size(); ++i)
      bytes += batch.sample(i).get<mds::bytes_view>("record").size();
    records += batch.size();
  }
  std::printf("%llu records, %llu bytes\n", static_cast<unsigned long long>(records),
              static_cast<unsigned long long>(bytes));
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
