// On a device the kernels leave what the host leaves. Where there is none, making a stager says so.

#include <mdstream/stage/cuda_collated.hpp>
#include <mdstream/stage/pinned.hpp>

#include <mdstream/collate/dense.hpp>
#include <mdstream/collate/packed.hpp>
#include <mdstream/collate/padded.hpp>
#include <mdstream/collate/ragged.hpp>

#include "cuda/batches.hpp"
#include "cuda/launch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <thread>
#include <vector>

namespace device_test {

using namespace batches;

bool has_device() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

/// Ends the program where there is nothing to run on, with the status that CTest shows as skipped:
/// none of the selected tests could run.
bool skipped() {
  if (has_device()) return false;
  std::cout << "skipped: there is no CUDA device\n";
  std::exit(77);
}

/// An array on the device.
template <class T>
class array {
 public:
  explicit array(std::size_t count) : count_(count) {
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data_), (count * sizeof(T) + 15) / 16 * 16) ==
            cudaSuccess);
  }
  explicit array(const std::vector<T>& from) : array(from.size()) {
    REQUIRE(cudaMemcpy(data_, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice) ==
            cudaSuccess);
  }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
  ~array() { cudaFree(data_); }
  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> out(count_);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    REQUIRE(cudaMemcpy(out.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost) ==
            cudaSuccess);
    return out;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

template <class Collator, class Stager>
void compare(Stager& stager, const std::vector<collate::source_column>& sources, std::uint32_t seed,
             std::uint64_t samples = 200, std::uint64_t longest = 60) {
  INFO(Collator::name << ", seed " << seed << ", " << samples << " samples of up to " << longest
                      << " elements");
  std::mt19937 random(seed);
  batch one{.sources = sources};
  add_samples(one, samples, longest, random);
  lay_out<Collator>(one);
  memory expected(one.plan.slab_bytes);
  collate::execute(one.plan, expected.data());
  auto slot = stager.stage(one.plan);
  slot.ready_on(nullptr);
  std::vector<std::byte> made(one.plan.slab_bytes);
  REQUIRE(cudaMemcpy(made.data(), slot.data(), made.size(), cudaMemcpyDefault) == cudaSuccess);
  CHECK(are_equal(one.outputs, one.samples.size(), made.data(), expected.data()));
}

const std::vector<collate::source_column> fixed{{.type = mds::dtype::int64, .value_bytes = 8},
                                                {.type = mds::dtype::float32, .value_bytes = 36}};
const std::vector<collate::source_column> mixed{{.type = mds::dtype::int64, .value_bytes = 8},
                                                {.type = mds::dtype::uint8},
                                                {.type = mds::dtype::uint16, .shaped = true}};

}  // namespace device_test

using namespace device_test;

TEST_CASE("without a device a stager says so when it is made", "[cuda]") {
  if (has_device()) {
    SUCCEED("there is a device");
    return;
  }
  const auto message = {std::string_view("no CUDA device can be used"),
                        std::string_view("cudaError")};
  support::expect_error([] { mds::stage::cuda<> stager; }, mds::errc::device_error, message);
  support::expect_error([] { mds::stage::cuda_collated<> stager; }, mds::errc::device_error,
                        message);
  support::expect_error([] { mds::stage::pinned<> stager; }, mds::errc::device_error, message);
  CHECK(mds::stage::detail::device_kernels().collate != nullptr);
}

TEST_CASE("there is no device of that number", "[cuda][device]") {
  if (skipped()) return;
  support::expect_error([] { mds::stage::cuda<3> stager({.device = 999}); },
                        mds::errc::device_error, {"no CUDA device 999"});
}

TEST_CASE("batches on the device are the host's", "[cuda][device]") {
  if (skipped()) return;
  mds::stage::cuda<2> copied;
  mds::stage::cuda_collated<2> collated;
  mds::stage::pinned<2> pinned;
  for (unsigned round = 0; round < 12; ++round) {
    const unsigned seed = support::test_seed(round);
    compare<collate::dense>(copied, fixed, seed);
    compare<collate::dense>(collated, fixed, seed);
    compare<collate::ragged>(pinned, mixed, seed);
    compare<collate::ragged>(collated, mixed, seed);
    compare<collate::padded<collate::padding{.multiple = 8}>>(collated, mixed, seed);
    compare<collate::packed<collate::packing{.row = 64}>>(collated, mixed, seed);
  }
}

TEST_CASE("batches of which a thread makes many words are the host's", "[cuda][device]") {
  if (skipped()) return;
  mds::stage::cuda_collated<2> stager;
  for (const std::uint64_t longest : {30U, 8000U}) {
    const std::uint64_t samples = (64U << 20) / (3 * longest / 2);
    compare<collate::dense>(stager, fixed, 1, samples);
    compare<collate::ragged>(stager, mixed, 1, samples, longest);
    compare<collate::padded<collate::padding{.multiple = 8}>>(stager, mixed, 1, samples, longest);
    compare<collate::packed<collate::packing{.row = 8000}>>(stager, mixed, 1, samples, longest);
  }
}

TEST_CASE("rows of any size are gathered; numbers of no row give zeros", "[cuda][device]") {
  if (skipped()) return;
  for (const std::uint64_t row_bytes : {3U, 16U, 40U, 1000U, 4096U}) {
    INFO("rows of " << row_bytes << " bytes");
    constexpr std::uint64_t rows = 3000;
    std::vector<std::byte> table(rows * row_bytes);
    for (std::size_t i = 0; i < table.size(); ++i)
      table[i] = static_cast<std::byte>(mds::detail::mix_bits(i));
    std::vector<std::int64_t> ids{-1, rows, INT64_MIN, INT64_MAX};
    for (std::uint64_t i = 0; i < 20000; ++i)
      ids.push_back(static_cast<std::int64_t>(mds::detail::mix_bits(i) % rows));
    std::vector<std::byte> expected(ids.size() * row_bytes);
    for (std::size_t k = 4; k < ids.size(); ++k)
      std::memcpy(expected.data() + k * row_bytes,
                  table.data() + static_cast<std::uint64_t>(ids[k]) * row_bytes, row_bytes);
    const array<std::byte> from(table), out(expected.size());
    const array<std::int64_t> numbers(ids);
    launch::gather_rows(from.data(), rows, row_bytes, numbers.data(), ids.size(), out.data(),
                        nullptr);
    CHECK(out.read() == expected);
  }
}

TEST_CASE("columns are converted as on the host", "[cuda][device]") {
  if (skipped()) return;
  std::vector<std::uint16_t> tokens(64 * 100);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::uint16_t>(mds::detail::mix_bits(i));
  const array<std::uint16_t> on_device(tokens);
  const array<std::int64_t> made(tokens.size());
  std::vector<std::int64_t> expected(tokens.size());
  collate::widen(tokens.data(), tokens.size(), expected.data());
  launch::widen(on_device.data(), tokens.size(), made.data(), nullptr);
  CHECK(made.read() == expected);
  const collate::label_rows rows{.rows = 64, .row_elements = 100};
  collate::shift_labels(tokens.data(), rows, expected.data());
  launch::shift_labels(on_device.data(), rows, made.data(), nullptr);
  CHECK(made.read() == expected);

  std::vector<std::uint8_t> pixels(7 * 50 * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<std::uint8_t>(mds::detail::mix_bits(i));
  const auto about = collate::image_rows{.images = 7, .pixels = 50}.normalised_by(
      {0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F, 1});
  const array<std::uint8_t> images(pixels);
  const array<float> floats(pixels.size());
  const array<mds::float16> halves(pixels.size());
  std::vector<float> expected_floats(pixels.size());
  std::vector<mds::float16> expected_halves(pixels.size());
  collate::normalise(pixels.data(), about, expected_floats.data());
  collate::normalise(pixels.data(), about, expected_halves.data());
  launch::normalise(images.data(), about, floats.data(), nullptr);
  launch::normalise(images.data(), about, halves.data(), nullptr);
  CHECK(floats.read() == expected_floats);
  CHECK(std::memcmp(halves.read().data(), expected_halves.data(), 2 * pixels.size()) == 0);
}

TEST_CASE("the order on the device is the host's", "[cuda][device]") {
  if (skipped()) return;
  constexpr std::uint64_t rows = 5000;
  std::vector<std::uint64_t> table(rows);
  for (std::uint64_t i = 0; i < rows; ++i) table[i] = i;
  const array<std::uint64_t> on_device(table), out(rows);
  const array<std::int64_t> ids(rows);
  const mds::detail::keyed_permutation order(rows, 77);
  launch::permute_rows(reinterpret_cast<const std::byte*>(on_device.data()), rows, 8, order,
                       ids.data(), reinterpret_cast<std::byte*>(out.data()), nullptr);
  const auto permuted = out.read();
  for (std::uint64_t i = 0; i < rows; ++i) REQUIRE(permuted[i] == order(i));

  mds::shuffle::buffer buffer({.samples = rows, .size = rows, .batch = rows, .seed = 1});
  (void)buffer.put(rows, "");
  const auto draw = buffer.draw(buffer.drawable());
  launch::draw_rows(reinterpret_cast<std::byte*>(on_device.data()), rows, 8, draw, ids.data(),
                    reinterpret_cast<std::byte*>(out.data()), nullptr);
  const auto drawn = out.read();
  for (std::uint64_t i = 0; i < draw.count; ++i) REQUIRE(drawn[i] == draw.order(i));
}

TEST_CASE("a loader that runs ahead leaves the capture of a graph alone", "[cuda][device]") {
  if (skipped()) return;
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  const array<std::byte> from(64), to(64);
  mds::stage::cuda<2> stager;
  std::exception_ptr failure;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  std::thread([&] {
    try {
      for (std::uint32_t step = 0; step < 20; ++step) {  // each larger: waits, frees and allocates
        std::mt19937 random(step);
        batch one{.sources = {{.type = mds::dtype::uint8, .value_bytes = 1U << step}}};
        add_samples(one, 3, 0, random);
        lay_out<collate::dense>(one);
        const auto slot = stager.stage(one.plan);
      }
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  CHECK(cudaMemcpyAsync(to.data(), from.data(), 64, cudaMemcpyDeviceToDevice, stream) ==
        cudaSuccess);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(graph != nullptr);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  if (failure) std::rethrow_exception(failure);
}

TEST_CASE("captured graphs read the batches of a ring", "[cuda][device]") {
  if (skipped()) return;
  constexpr std::size_t bytes = 4096;
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  const array<std::byte> result(bytes);
  std::map<const std::byte*, cudaGraphExec_t> graphs;
  {
    mds::stage::cuda<3> stager;
    mds::stage::cuda<3>::slot slot;
    for (unsigned step = 0; step < 12; ++step) {
      const unsigned seed = support::test_seed(step);
      INFO("seed " << seed);
      std::mt19937 random(seed);
      batch one{.sources = {{.type = mds::dtype::uint8, .value_bytes = bytes}}};
      add_samples(one, 1, 0, random);
      lay_out<collate::dense>(one);
      slot = {};
      slot = stager.stage(one.plan);
      slot.ready_on(stream);
      if (!graphs.contains(slot.data())) {
        cudaGraph_t graph = nullptr;
        REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
        REQUIRE(cudaMemcpyAsync(result.data(), slot.data(), bytes, cudaMemcpyDeviceToDevice,
                                stream) == cudaSuccess);
        REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
        REQUIRE(cudaGraphInstantiate(&graphs[slot.data()], graph, 0) == cudaSuccess);
        cudaGraphDestroy(graph);
      }
      REQUIRE(cudaGraphLaunch(graphs[slot.data()], stream) == cudaSuccess);
      const auto* const expected = one.samples[0].data;
      CHECK(result.read() == std::vector<std::byte>(expected, expected + bytes));
    }
  }
  CHECK(graphs.size() == 3);
  for (const auto& [address, graph] : graphs) cudaGraphExecDestroy(graph);
  cudaStreamDestroy(stream);
}
