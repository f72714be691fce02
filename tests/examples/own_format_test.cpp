// The example's TFRecord: what a format of one's own has to do, damage named by byte.

#include <mdstream/raw/detail/index_builder.hpp>
#include <mdstream/raw/detail/transcode.hpp>

#include <string>

#include "../../examples/own_format/tfrecord.hpp"
#include "support/expect_error.hpp"

namespace mds = mdstream;
namespace raw = mdstream::raw;

namespace own_format_test {

// Three records as TensorFlow writes them: "", "a" and "bcd".
std::string file() {
  std::string out;
  const auto put = [&](auto value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const std::string data : {"", "a", "bcd"}) {
    const auto length = static_cast<std::uint64_t>(data.size());
    put(length);
    put(tfrecord::masked_crc(std::as_bytes(std::span(&length, 1))));
    out += data;
    put(tfrecord::masked_crc(mds::as_bytes(data)));
  }
  return out;
}

std::uint64_t samples_of(const std::string& bytes) {
  const auto format = raw::any_format<tfrecord>::open({.format = "tfrecord"});
  const raw::detail::object_cuts found =
      raw::detail::cut_object(format, "a.tfrecord", mds::as_bytes(bytes));
  const raw::part all{.key = "a.tfrecord", .bytes = mds::as_bytes(bytes)};
  return raw::detail::transcode(format, {{"record", "bytes", ""}}, found.cuts.at(0),
                                {.parts = {&all, 1}, .note = {}, .extra = {}})
      .samples;
}

}  // namespace own_format_test

TEST_CASE("the example reads TFRecord, and names what is damaged by its byte") {
  using namespace own_format_test;
  // of the specification: the mask of the checksum of no bytes
  CHECK(tfrecord::masked_crc({}) == 0xa282ead8U);
  const std::string good = file();
  CHECK(samples_of(good) == 3);
  std::string bad = good;
  bad[16 + 3] = 'x';  // the length of the second
  support::expect_error([&] { (void)samples_of(bad); }, mds::errc::corrupt,
                        {"a.tfrecord", "byte 16"});
  bad = good;
  bad[16 + 12] = 'x';
  support::expect_error([&] { (void)samples_of(bad); }, mds::errc::corrupt,
                        {"a.tfrecord", "byte 16", "checksum"});
  support::expect_error([&] { (void)samples_of(good.substr(0, good.size() - 1)); },
                        mds::errc::corrupt, {"a.tfrecord"});
}
