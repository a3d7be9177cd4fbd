#include <vector>

#include <dlpack/dlpack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>

#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/tensor/dlpack.h>

// With the other side written here. tests/models/libtorch exchanges tensors with libtorch.

namespace lockstep::test {
namespace {

using testing::ElementsAre;

/// A DLPack tensor of another library: floats 0, 1, ..., 11, of shape (2, 3), and the number of calls of its deleter.
struct Lent {
  std::vector<float> numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<std::int64_t> shape{2, 3};
  std::vector<std::int64_t> strides{};
  int deleted = 0;
  DLManagedTensor managed{.dl_tensor = {.data = numbers.data(),
                                        .device = {kDLCPU, 0},
                                        .ndim = 2,
                                        .dtype = {kDLFloat, 32, 1},
                                        .shape = shape.data(),
                                        .strides = nullptr,
                                        .byte_offset = 0},
                          .manager_ctx = this,
                          .deleter = [](DLManagedTensor* self) { ++static_cast<Lent*>(self->manager_ctx)->deleted; }};
};

TEST(FromDlpack, SharesTheMemoryUntilTheLastViewIsGone) {
  Lent lent;
  Tensor row;
  {
    const Tensor tensor = from_dlpack(&lent.managed);
    EXPECT_EQ(tensor.text(), "f32 (2, 3) on CPU:0");
    EXPECT_TRUE(tensor.is_dense());
    EXPECT_FALSE(tensor.unique()) << "ops must not overwrite it";
    EXPECT_EQ(tensor.raw_data(), lent.numbers.data());
    row = tensor.slice_view(0, 1, 2);
  }
  lent.numbers[4] = 40;
  EXPECT_THAT(row.to_vector<float>(), ElementsAre(3, 40, 5));
  EXPECT_EQ(lent.deleted, 0);
  row = {};
  EXPECT_EQ(lent.deleted, 1);
}

TEST(FromDlpack, TakesStridesOffsetsAndTensorsWithoutElements) {
  Lent lent;
  lent.strides = {1, 4};
  lent.managed.dl_tensor.strides = lent.strides.data();
  lent.managed.dl_tensor.byte_offset = 2 * sizeof(float);
  const Tensor tensor = from_dlpack(&lent.managed);
  EXPECT_FALSE(tensor.is_dense());
  EXPECT_THAT(tensor.to_vector<float>(), ElementsAre(2, 6, 10, 3, 7, 11));
  Lent none;
  none.shape = {0, 3};
  none.managed.dl_tensor.data = nullptr;
  none.managed.deleter = nullptr;
  EXPECT_EQ(from_dlpack(&none.managed).shape(), (Shape{0, 3}));
  none.managed.dl_tensor.byte_offset = 2;  // of no memory
  EXPECT_EQ(from_dlpack(&none.managed).shape(), (Shape{0, 3}));
  Lent scalar;
  scalar.managed.dl_tensor.ndim = 0;
  scalar.managed.dl_tensor.shape = nullptr;
  scalar.managed.dl_tensor.byte_offset = sizeof(float);
  EXPECT_EQ(from_dlpack(&scalar.managed).item<float>(), 1);
}

TEST(FromDlpack, LeavesToTheCallerWhatItRefuses) {
  const auto refused = [](const auto& change) {
    Lent lent;
    lent.strides = {3, 1};
    change(lent, lent.managed.dl_tensor);
    try {
      from_dlpack(&lent.managed);
    } catch (...) {
      EXPECT_EQ(lent.deleted, 0);
      throw;
    }
  };
  EXPECT_ERROR(InvalidArgument, "from_dlpack was given a null pointer",
               from_dlpack(static_cast<DLManagedTensor*>(nullptr)));
  EXPECT_ERROR(Unsupported,
               "from_dlpack: tensors are f32, bf16, i32, i64, u8 or bool, got elements of DLPack's type 2 with 64 bits "
               "and 1 lane(s)",
               refused([](Lent&, DLTensor& tensor) { tensor.dtype.bits = 64; }));
  EXPECT_ERROR(Unsupported, "with 32 bits and 4 lane(s)",
               refused([](Lent&, DLTensor& tensor) { tensor.dtype.lanes = 4; }));
  EXPECT_ERROR(Unsupported, "from_dlpack: tensors are in memory of CPUs or CUDA GPUs, got DLPack's device type 10",
               refused([](Lent&, DLTensor& tensor) { tensor.device.device_type = kDLROCM; }));
  EXPECT_ERROR(Unsupported, "from_dlpack: ", refused([](Lent&, DLTensor& tensor) { tensor.device = {kDLCUDA, 99}; }));
  EXPECT_ERROR(InvalidArgument,
               "from_dlpack: tensors have no negative strides, got (-3, 1) of shape (2, 3): copy the elements",
               refused([](Lent& lent, DLTensor& tensor) {
                 lent.strides[0] = -3;
                 tensor.strides = lent.strides.data();
               }));
  EXPECT_ERROR(InvalidArgument, "is not aligned to the 4 bytes of f32: copy the elements",
               refused([](Lent&, DLTensor& tensor) { tensor.byte_offset = 2; }));
  EXPECT_ERROR(InvalidArgument, "from_dlpack: a null pointer was given as the memory of f32 (2, 3)",
               refused([](Lent&, DLTensor& tensor) {
                 tensor.data = nullptr;
                 tensor.byte_offset = 8;
               }));
  EXPECT_ERROR(InvalidArgument, "from_dlpack: the tensor has 2 axes but no sizes",
               refused([](Lent&, DLTensor& tensor) { tensor.shape = nullptr; }));
  EXPECT_ERROR(InvalidArgument, "takes more than 2^63 - 1 bytes", refused([](Lent& lent, DLTensor& tensor) {
                 lent.strides = {std::int64_t{1} << 61, 1};
                 tensor.strides = lent.strides.data();
               }));
  EXPECT_ERROR(InvalidArgument, "from_dlpack: ", refused([](Lent& lent, DLTensor& tensor) {
                 lent.shape.assign(9, 1);
                 tensor.shape = lent.shape.data();
                 tensor.ndim = 9;
               }));
}

TEST(ToDlpack, SharesTheMemoryOfAViewUntilTheDeleterIsCalled) {
  DLManagedTensor* managed = nullptr;
  void* data = nullptr;
  {
    const Tensor tensor = Tensor::from(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}, {2, 3});
    const Tensor view = tensor.transposed_view().slice_view(0, 1, 3);
    data = view.raw_data();
    managed = to_dlpack(view);
  }
  const Tensor other = Tensor::zeros({2, 3}, DType::i32);  // would get the memory if it were free
  const DLTensor& to = managed->dl_tensor;
  EXPECT_EQ(static_cast<std::byte*>(to.data) + to.byte_offset, data);
  EXPECT_EQ(to.device.device_type, kDLCPU);
  EXPECT_EQ(to.device.device_id, 0);
  EXPECT_EQ(to.dtype.code, kDLInt);
  EXPECT_EQ(to.dtype.bits, 32);
  EXPECT_EQ(to.dtype.lanes, 1);
  EXPECT_THAT(std::vector(to.shape, to.shape + to.ndim), ElementsAre(2, 2));
  EXPECT_THAT(std::vector(to.strides, to.strides + to.ndim), ElementsAre(1, 3));
  EXPECT_THAT(from_dlpack(managed).to_vector<std::int32_t>(), ElementsAre(2, 5, 3, 6));  // calls the deleter

  const std::size_t before = allocator(LogicalDevice{}).stats().bytes_in_use;
  managed = to_dlpack(Tensor::zeros({1000}));
  EXPECT_GT(allocator(LogicalDevice{}).stats().bytes_in_use, before);
  managed->deleter(managed);
  EXPECT_EQ(allocator(LogicalDevice{}).stats().bytes_in_use, before);
  EXPECT_ERROR(InvalidArgument, "to_dlpack was given an undefined tensor", to_dlpack(Tensor()));
}

TEST(ToDlpack, KeepsTheMemoryOfATensorThatMoves) {
  const Tensor tensor = Tensor::from(std::vector<float>{1, 2, 3}, {3});
  DLManagedTensor* const managed = to_dlpack(tensor.view({3}));
  const Tensor other = Tensor::from(std::vector<float>{1, 2, 3}, {3});
  tensor.move_into(other);
  const Tensor next = Tensor::full({3}, 9);  // would get the memory if it were free
  other.span<float>()[0] = 7;
  EXPECT_THAT(from_dlpack(managed).to_vector<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(next.to_vector<float>(), ElementsAre(9, 9, 9));
}

}  // namespace
}  // namespace lockstep::test
