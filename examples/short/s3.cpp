// s3 [URL]: writes a dataset into a bucket and streams it from there. Credentials come from the
// environment or from the files of AWS's tools.

#include <mdstream/mdstream.hpp>
#include <mdstream/store/s3.hpp>

#include <cstdio>
#include <string>

namespace mds = mdstream;
using namespace mds::literals;

using policies = mds::policies<mds::schema<mds::column<"x", std::int64_t>>, mds::collate::dense,
                               mds::any_store<mds::store::local, mds::store::s3>>;

int main(int count, char** words) {
  const std::string url = count > 1 ? words[1] : "s3://bucket/numbers";
  mds::writer<policies> out(
      {.out = url, .size_limit = 16_KiB, .existing = mds::existing_dataset::replace});
  for (std::int64_t i = 0; i < 10'000; ++i) out.write(i);
  out.finish();

  mds::loader<policies> loader({.remote = url,
                                .local = "cache/numbers",  // one for all processes of a node
                                .cache_limit = 10_GiB,
                                .batch_size = 100});
  std::int64_t sum = 0;
  for (auto& batch : loader.epoch())
    for (const std::int64_t x : batch.get<"x">()) sum += x;
  std::printf("the sum of %s is %lld\n", url.c_str(), static_cast<long long>(sum));
}
