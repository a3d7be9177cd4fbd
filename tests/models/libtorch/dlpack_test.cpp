#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/DLConvertor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <torch/types.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/runtime/tensor/dlpack.h>

// libtorch as the other side of from_dlpack and to_dlpack, with tensors of DLPack 1 and of earlier versions.

namespace lockstep::test {
namespace {

using testing::ElementsAre;

template <class Managed>
class DlpackWithLibtorch : public testing::Test {};
using ManagedTensors = testing::Types<DLManagedTensor, DLManagedTensorVersioned>;
TYPED_TEST_SUITE(DlpackWithLibtorch, ManagedTensors);

TYPED_TEST(DlpackWithLibtorch, TensorsShareMemoryBothWays) {
  using Traits = at::DLPackTraits<TypeParam>;
  constexpr std::pair<DType, torch::ScalarType> dtypes[] = {
      {DType::f32, torch::kFloat}, {DType::bf16, torch::kBFloat16}, {DType::i32, torch::kInt},
      {DType::i64, torch::kLong},  {DType::u8, torch::kByte},       {DType::boolean, torch::kBool}};
  for (const auto& [dtype, type] : dtypes) {
    torch::Tensor theirs = torch::tensor({{0, 1, 0}, {1, 1, 0}}).to(type).t().slice(0, 1, 3);
    const Tensor ours = from_dlpack(Traits::toDLPack(theirs));
    EXPECT_EQ(ours.dtype(), dtype);
    EXPECT_EQ(ours.raw_data(), theirs.data_ptr());
    EXPECT_THAT(ours.to_vector<int>(), ElementsAre(1, 1, 0, 0));
    const torch::Tensor back = Traits::fromDLPack(to_dlpack<TypeParam>(ours), {});
    EXPECT_EQ(back.scalar_type(), type);
    theirs[1][0] = 1;
    EXPECT_TRUE(torch::equal(back, theirs)) << name(dtype);
  }
}

TYPED_TEST(DlpackWithLibtorch, MemoryLivesAsLongAsEitherSideNeedsIt) {
  using Traits = at::DLPackTraits<TypeParam>;
  bool freed = false;
  std::vector<float> numbers{1, 2, 3};
  Tensor ours = from_dlpack(Traits::toDLPack(torch::from_blob(
      numbers.data(), {3}, [&](void*) { freed = true; }, torch::kFloat)));
  torch::Tensor theirs = Traits::fromDLPack(to_dlpack<TypeParam>(ours), {});
  ours = {};
  EXPECT_FALSE(freed);
  EXPECT_EQ(theirs.sum().item<float>(), 6);
  theirs = torch::Tensor();
  EXPECT_TRUE(freed);
  EXPECT_TRUE(Traits::fromDLPack(to_dlpack<TypeParam>(Tensor::zeros({0, 4})), {}).sizes() ==
              torch::IntArrayRef({0, 4}));
  EXPECT_EQ(from_dlpack(Traits::toDLPack(torch::zeros({2, 0}))).shape(), (Shape{2, 0}));
  EXPECT_EQ(from_dlpack(Traits::toDLPack(torch::tensor(5.0F))).template item<float>(), 5);
  EXPECT_THAT(from_dlpack(Traits::toDLPack(torch::tensor({5.0F}).expand({2, 1}))).template to_vector<float>(),
              ElementsAre(5, 5));
}

TEST(ToDlpackForLibtorch, MarksBroadcastViewsAsReadOnly) {
  const Tensor one = Tensor::full({1, 2}, 5);
  const auto flags = [](const Tensor& tensor) {
    DLManagedTensorVersioned* const managed = to_dlpack<DLManagedTensorVersioned>(tensor);
    const std::uint64_t found = managed->flags;
    managed->deleter(managed);
    return found;
  };
  EXPECT_EQ(flags(one), 0);
  EXPECT_EQ(flags(one.broadcast_view({3, 2})), DLPACK_FLAG_BITMASK_READ_ONLY);
}

TEST(ToDlpackForLibtorch, KeepsTheOldValueOfAVariableThatAnOptimizerMoves) {
  const Variable w(
      {.name = "w", .shape = {2}, .initializer = [](const Tensor& to) { std::fill_n(to.data<float>(), 2, 3.0F); }});
  const torch::Tensor before = at::fromDLPack(to_dlpack(w.value()));
  const SGD optimizer({.learning_rate = 0.5});
  const auto step = [&] {
    GradientTape tape;
    const Tensor loss = sum(square(w.value()));
    optimizer.minimize(tape, loss, {w});
  };
  step();  // w = 3 - 0.5 * 6
  const torch::Tensor after = at::fromDLPack(to_dlpack(w.value()));
  const Tensor reused = Tensor::full({2}, 9);  // would get the memory if it were free
  EXPECT_TRUE(torch::equal(before, torch::tensor({3.0F, 3.0F})));
  EXPECT_TRUE(torch::equal(after, torch::tensor({0.0F, 0.0F})));
  w.assign(Tensor::full({2}, 2));
  EXPECT_TRUE(torch::equal(after, torch::tensor({2.0F, 2.0F}))) << "it moves only once";
  step();
  EXPECT_TRUE(torch::equal(after, torch::tensor({0.0F, 0.0F})));
  EXPECT_EQ(reused.span<float>()[0], 9);
}

TEST(FromDlpackOfLibtorch, RefusesReadOnlyTensorsAndOtherVersions) {
  bool freed = false;
  std::vector<float> numbers{1, 2, 3};
  const auto refused = [&](const auto& change) {
    DLManagedTensorVersioned* const managed = at::toDLPackVersioned(torch::from_blob(
        numbers.data(), {3}, [&](void*) { freed = true; }, torch::kFloat));
    change(*managed);
    try {
      from_dlpack(managed);
    } catch (...) {
      EXPECT_FALSE(freed);
      managed->deleter(managed);
      EXPECT_TRUE(std::exchange(freed, false));
      throw;
    }
  };
  EXPECT_ERROR(Unsupported,
               "from_dlpack was given a read-only tensor, but lockstep's tensors can be written: give it a copy",
               refused([](DLManagedTensorVersioned& managed) { managed.flags |= DLPACK_FLAG_BITMASK_READ_ONLY; }));
  EXPECT_ERROR(Unsupported, "from_dlpack takes tensors of DLPack 1, got version 2.5",
               refused([](DLManagedTensorVersioned& managed) {
                 managed.version = {2, 5};
               }));
  EXPECT_ERROR(Unsupported, "got elements of DLPack's type 2 with 64 bits and 1 lane(s)",
               refused([](DLManagedTensorVersioned& managed) { managed.dl_tensor.dtype.bits = 64; }));
}

}  // namespace
}  // namespace lockstep::test
