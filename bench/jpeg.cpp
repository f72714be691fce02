// JPEG files to RGB images: on the host's threads, and on a GPU's engines where there are some.

#include <mdstream/image/jpeg_batch.hpp>

#include "support/harness.hpp"
#include "support/jpeg_files.hpp"

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#ifdef BENCH_WITH_NVJPEG
#include <mdstream/image/nvjpeg.hpp>

#include <memory>
#endif

namespace {

namespace mds = mdstream;

constexpr std::size_t different = 64, images = 2048;

struct files {
  std::vector<std::string> all{};
  std::vector<mds::bytes_view> batch{};

  explicit files(std::size_t batch_size) {
    for (unsigned i = 0; i < different; ++i)
      all.push_back(jpeg_files::make({.width = 500, .height = 375, .quality = 97, .seed = i}));
    for (std::size_t i = 0; i < batch_size; ++i) batch.push_back(mds::as_bytes(all[i % different]));
  }
};

std::uint64_t decode_on_threads(const files& from, std::vector<std::byte>& block,
                                unsigned threads) {
  const mds::rgb_layout layout = mds::lay_out_jpegs(from.batch);
  for (std::size_t done = 0; done < images; done += from.batch.size()) {
    std::atomic<std::size_t> next{0};
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < threads; ++i)
      workers.emplace_back([&] {
        for (std::size_t k = next++; k < from.batch.size(); k = next++)
          mds::decode_jpeg_rgb(from.batch[k], layout.images[k], block.data() + layout.images[k].at);
      });
  }
  return images;
}

void decoding_case(std::size_t batch_size) {
  const files from(batch_size);
  std::vector<std::byte> block(mds::lay_out_jpegs(from.batch).bytes);
  const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  const std::string host = "libjpeg, " + std::to_string(threads) + " threads";
  std::vector<bench::contender> contenders{
      {host, [&] { return decode_on_threads(from, block, threads); }},
      {"headers alone, 1 thread", [&] {
         for (std::size_t done = 0; done < images; done += batch_size)
           (void)mds::lay_out_jpegs(from.batch);
         return std::uint64_t{images};
       }}};
#ifdef BENCH_WITH_NVJPEG
  std::unique_ptr<mds::nvjpeg_decoder> decoder;
  std::byte* on_device = nullptr;
  cudaStream_t stream = nullptr;
  try {
    decoder = std::make_unique<mds::nvjpeg_decoder>();
    cudaMalloc(reinterpret_cast<void**>(&on_device), block.size());
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    contenders.insert(contenders.begin(),
                      {"mdstream, the device's engines", [&] {
                         for (std::size_t done = 0; done < images; done += batch_size)
                           decoder->decode(from.batch, mds::lay_out_jpegs(from.batch), on_device,
                                           stream);
                         cudaStreamSynchronize(stream);
                         return std::uint64_t{images};
                       }});
  } catch (const mds::error& e) {
    std::fprintf(stderr, "bench jpeg: on the host alone: %s\n", e.what());
  }
#endif
  double bytes = 0;
  for (const std::string& file : from.all) bytes += static_cast<double>(file.size());
  char name[80];
  std::snprintf(name, sizeof name, "500 x 375, %.0f KB, batches of %zu", bytes / different / 1000,
                batch_size);
  bench::run_case("jpeg", name, "images/s", std::move(contenders), 5);
#ifdef BENCH_WITH_NVJPEG
  if (decoder) {
    cudaStreamDestroy(stream);
    cudaFree(on_device);
  }
#endif
}

}  // namespace

int main() {
  decoding_case(32);
  decoding_case(256);
}
