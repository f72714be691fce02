// A store of one's own: a directory whose files are encrypted (badly, by one byte).

#include <mdstream/mdstream.hpp>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace mds = mdstream;

struct encrypted {
  mds::store::local directory;

  std::uint64_t size(std::string_view key) const { return directory.size(key); }
  std::size_t read(std::string_view key, std::uint64_t at, mds::mutable_bytes into) const {
    const std::size_t got = directory.read(key, at, into);
    for (std::byte& each : into.first(got)) each ^= std::byte{0x5a};
    return got;
  }
  void write(std::string_view key, mds::bytes_view bytes) const {
    std::vector<std::byte> out(bytes.begin(), bytes.end());
    for (std::byte& each : out) each ^= std::byte{0x5a};
    directory.write(key, out);
  }
  auto list(std::string_view prefix) const { return directory.list(prefix); }
  void remove(std::string_view key) const { directory.remove(key); }
  std::string url(std::string_view key) const { return directory.url(key); }
};

int main() {
  const encrypted store{mds::store::local("secret")};
  mds::writer<mds::policies<mds::schema<mds::column<"x", std::int64_t>>>> out(
      {.out = store, .existing = mds::existing_dataset::replace});
  for (std::int64_t i = 0; i < 1'000; ++i) out.write(i);
  out.finish();
  mds::dataset<> data({.streams = {{.store = store}}});
  std::printf("sample 17 of %zu is %d\n", std::size_t(data.size()),
              int(data[17].get<std::int64_t>("x")));
}
