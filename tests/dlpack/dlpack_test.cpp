#include <mdstream/interop/dlpack.hpp>

#include <mdstream/collate/padded.hpp>
#include <mdstream/mdstream.hpp>

#include "support/catch.hpp"

#include <dlpack/dlpack.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace dlpack_test {

namespace mds = mdstream;

using policies = mds::policies<mds::schema<mds::column<"text", mds::str>,
                                           mds::column<"tokens", mds::ndarray<std::uint16_t, 3, 2>>,
                                           mds::column<"weight", double>>>;
using batch_type = mds::loader<policies>::batch_type;

/// The one batch of a dataset of four samples.
std::shared_ptr<const batch_type> a_batch() {
  std::string folder = (std::filesystem::temp_directory_path() / "dlpack-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  mds::writer<policies> out({.out = folder + "/store"});
  for (std::uint16_t i = 0; i < 4; ++i) {
    std::array<std::uint16_t, 6> tokens{};
    std::iota(tokens.begin(), tokens.end(), static_cast<std::uint16_t>(10 * i));
    out.write(std::string(i, 'x'), tokens, i / 2.0);
  }
  out.finish();
  std::optional<batch_type> kept;
  {
    mds::loader<policies> loader({.remote = folder + "/store",
                                  .local = folder + "/cache",

                                  .batch_size = 4});
    for (auto& batch : loader.epoch()) {
      kept.emplace(std::move(batch));
      break;
    }
  }
  std::filesystem::remove_all(folder);
  return std::make_shared<const batch_type>(*std::move(kept));
}

template <class Managed>
void check_columns() {
  auto batch = a_batch();
  const std::weak_ptr<const batch_type> alive = batch;
  Managed* tokens = mds::dlpack::export_tensor<Managed>(batch, batch->get<"tokens">());
  Managed* weight = mds::dlpack::export_tensor<Managed>(batch, batch->get<"weight">());
  Managed* text = mds::dlpack::export_tensor<Managed>(batch, batch->get<"text">().values());
  Managed* offsets = mds::dlpack::export_tensor<Managed>(batch, batch->get<"text">().offsets());
  const auto* const data = batch->get<"tokens">().data();
  const std::int64_t last_id = batch->ids()[3];
  batch.reset();

  const auto& t = tokens->dl_tensor;
  CHECK(t.data == data);  // no copy
  CHECK(t.device.type == 1);
  CHECK(std::vector(t.shape, t.shape + t.ndim) == std::vector<std::int64_t>{4, 3, 2});
  CHECK(std::vector(t.strides, t.strides + t.ndim) == std::vector<std::int64_t>{6, 2, 1});
  CHECK((t.dtype.code == 1 && t.dtype.bits == 16 && t.dtype.lanes == 1));
  CHECK(static_cast<const std::uint16_t*>(t.data)[3 * 6 + 5] == 10 * last_id + 5);
  CHECK((weight->dl_tensor.dtype.code == 2 && weight->dl_tensor.dtype.bits == 64));
  CHECK((text->dl_tensor.dtype.code == 1 && text->dl_tensor.dtype.bits == 8));
  CHECK(text->dl_tensor.shape[0] == 6);
  CHECK((offsets->dl_tensor.dtype.code == 0 && offsets->dl_tensor.dtype.bits == 64));
  CHECK(static_cast<const std::int64_t*>(offsets->dl_tensor.data)[4] == 6);

  for (Managed* one : {tokens, weight, text}) one->deleter(one);
  CHECK_FALSE(alive.expired());
  offsets->deleter(offsets);
  CHECK(alive.expired());
}

}  // namespace dlpack_test

using namespace dlpack_test;

TEST_CASE("a tensor shows a column where it lies and keeps its batch", "[interop]") {
  SECTION("plain") { check_columns<mds::dlpack::managed_tensor>(); }
  SECTION("versioned") { check_columns<mds::dlpack::managed_tensor_versioned>(); }
}

TEST_CASE("devices have DLPack's numbers", "[interop]") {
  using mds::stage::memory_kind;
  CHECK(mds::dlpack::detail::device_of({memory_kind::device, 3}).type == 2);
  CHECK(mds::dlpack::detail::device_of({memory_kind::device, 3}).id == 3);
  CHECK(mds::dlpack::detail::device_of({memory_kind::pinned, 3}).type == 3);
  CHECK(mds::dlpack::detail::device_of({memory_kind::pinned, 3}).id == 0);
}

TEST_CASE("the structs are those of dlpack.h", "[interop]") {
  namespace own = mds::dlpack;
  static_assert(sizeof(own::managed_tensor) == sizeof(DLManagedTensor));
  static_assert(offsetof(own::managed_tensor, dl_tensor) == offsetof(DLManagedTensor, dl_tensor));
  static_assert(offsetof(own::managed_tensor, manager_ctx) ==
                offsetof(DLManagedTensor, manager_ctx));
  static_assert(offsetof(own::managed_tensor, deleter) == offsetof(DLManagedTensor, deleter));
  static_assert(offsetof(own::tensor, data) == offsetof(DLTensor, data));
  static_assert(offsetof(own::tensor, ndim) == offsetof(DLTensor, ndim));
  static_assert(offsetof(own::tensor, dtype) == offsetof(DLTensor, dtype));
  static_assert(offsetof(own::tensor, shape) == offsetof(DLTensor, shape));
  static_assert(offsetof(own::tensor, strides) == offsetof(DLTensor, strides));
  static_assert(offsetof(own::tensor, byte_offset) == offsetof(DLTensor, byte_offset));
  static_assert(sizeof(own::data_type) == sizeof(DLDataType));
  CHECK((kDLCPU == 1 && kDLCUDA == 2 && kDLCUDAHost == 3));
  CHECK((kDLInt == 0 && kDLUInt == 1 && kDLFloat == 2));
}
