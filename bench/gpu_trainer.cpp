#include "gpu_cases.hpp"

#include <mdstream/mdstream.hpp>
#include <mdstream/stage/cuda.hpp>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

namespace mds = mdstream;

constexpr std::uint64_t sample_bytes = 100'000, samples = 20'000, batch = 1'000;
constexpr double step_ms = 5, delayed_ms = 0.25;

using policies =
    mds::policies<mds::schema<mds::column<"x", mds::ndarray<std::uint8_t, sample_bytes>>>,
                  mds::shuffle::py1e, mds::collate::dense, mds::stage::cuda<3>>;

std::string dataset_in(const std::string& root) {
  const std::string where = root + "/gpu-trainer";
  if (std::filesystem::exists(where + "/index.json")) return where;
  mds::writer<policies> out({.out = where});
  std::vector<std::byte> sample(sample_bytes);
  for (std::uint64_t i = 0; i < samples; ++i) {
    for (std::size_t k = 0; k < sample.size(); k += 512) sample[k] = static_cast<std::byte>(i);
    out.write(sample);
  }
  out.finish();
  return where;
}

struct event {
  event() { cudaEventCreate(&handle); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { cudaEventDestroy(handle); }
  cudaEvent_t handle = nullptr;
};

/// What lies between a step's end and the next one's beginning.
struct gaps {
  std::uint64_t steps = 0, delayed = 0;
  double longest_ms = 0;

  void add(const event& end, const event& begin) {
    float ms = 0;
    cudaEventElapsedTime(&ms, end.handle, begin.handle);
    ++steps;
    delayed += ms > delayed_ms ? 1 : 0;
    longest_ms = ms > longest_ms ? ms : longest_ms;
  }
};

}  // namespace

/// A trainer whose steps keep one multiprocessor busy for 5 ms each, and wait for 100 MB that they
/// do not read: how many of them begin late because their batch is not there. The first of the run
/// waits for its batch and does not count.
void trainer_case(const std::string& root) {
  const std::string name = "trainer, 5 ms and 100 MB a step";
  if (!bench::is_wanted(name)) return;
  mds::loader<policies> loader({.local = dataset_in(root), .batch_size = batch});
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  gaps cold, warm;
  {
    event begin[2], end[2];
    std::uint64_t step = 0;
    for (int epoch = 0; epoch < 11; ++epoch)
      for (auto& one : loader.epoch()) {
        one.ready_on(stream);
        cudaEventRecord(begin[step % 2].handle, stream);
        keep_busy(step_ms, stream);
        cudaEventRecord(end[step % 2].handle, stream);
        if (step > 0) {
          cudaEventSynchronize(begin[step % 2].handle);
          (epoch == 0 ? cold : warm).add(end[(step - 1) % 2], begin[step % 2]);
        }
        ++step;
      }
    cudaStreamSynchronize(stream);
  }
  cudaStreamDestroy(stream);
  for (const auto& [what, seen] : {std::pair{"first epoch", cold}, {"ten epochs more", warm}})
    std::printf(
        "{\"bench\":\"gpu\",\"case\":\"%s, %s\",\"steps\":%llu,\"delayed\":%llu,"
        "\"longest gap\":\"%.3f ms\"}\n",
        name.c_str(), what, static_cast<unsigned long long>(seen.steps),
        static_cast<unsigned long long>(seen.delayed), seen.longest_ms);
}
