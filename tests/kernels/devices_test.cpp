#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/devices.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/indexing/embedding.h>
#include <lockstep/kernels/indexing/scatter.h>
#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/device/gpu_platform.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/thread/device_scope.h>

// The runtime's handling of a device's memory and work, on any kind of device.

namespace lockstep {
namespace {

using testing::ElementsAre;

class Devices : public testing::Test {
 protected:
  const std::vector<LogicalDevice> devices_ = test::devices(2);
  const LogicalDevice& first_ = devices_[0];
  const LogicalDevice& second_ = devices_[1];
};

TEST_F(Devices, GiveBackWhatTheyWereGiven) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8}) {
    const DeviceScope there(first_);
    const Tensor x = Tensor::full({3, 5}, 7, dtype);
    EXPECT_EQ(x.device(), first_);
    EXPECT_EQ(x.to_vector<int>(), std::vector<int>(15, 7)) << name(dtype);
    EXPECT_EQ(Tensor::zeros({4}, dtype).to_vector<int>(), std::vector<int>(4, 0)) << name(dtype);
  }
  const DeviceScope there(first_);
  EXPECT_EQ(Tensor::scalar<std::int64_t>(1LL << 40).item<std::int64_t>(), 1LL << 40);
  EXPECT_TRUE(std::signbit(Tensor::full({1}, -0.0).item<float>()));
  EXPECT_TRUE(Tensor::zeros({0}).to_vector<float>().empty());
}

TEST_F(Devices, GiveBackViewsOfAnyStrides) {
  const DeviceScope there(first_);
  const Tensor x = Tensor::from(std::vector<float>{0, 1, 2, 3, 4, 5}, {2, 3});
  EXPECT_THAT(x.slice_view(1, 1, 3).to_vector<float>(), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(x.slice_view(0, 1, 2).broadcast_view({2, 3}).to_vector<float>(), ElementsAre(3, 4, 5, 3, 4, 5));
  const Tensor host = x.slice_view(1, 0, 2).on_host();
  EXPECT_EQ(host.device().kind, DeviceKind::cpu);
  EXPECT_EQ(host.strides(), x.strides());
}

TEST_F(Devices, CopyFromAnyToAny) {
  const Tensor host = test::random_tensor({7, 5}, 1);
  for (const Tensor& x : {host, host.slice_view(1, 1, 4)}) {
    const Tensor there = to_device(x, first_);
    const Tensor further = to_device(there, second_);
    EXPECT_EQ(further.device(), second_);
    test::expect_same_bits(to_device(further, LogicalDevice{}), x);
    const Tensor column = further.slice_view(1, 1, 2);
    test::expect_same_bits(to_device(column, first_), x.slice_view(1, 1, 2));
  }
}

TEST_F(Devices, AssignBetweenStridesAndTypes) {
  const Tensor whole = to_device(Tensor::zeros({3, 4}), first_);
  assign(to_device(Tensor::full({3, 2}, 5, DType::i64), second_), whole.slice_view(1, 1, 3));
  EXPECT_THAT(whole.to_vector<float>(), ElementsAre(0, 5, 5, 0, 0, 5, 5, 0, 0, 5, 5, 0));
}

TEST_F(Devices, DoTheirWorkInTheOrderInWhichItWasGiven) {
  constexpr std::int64_t elements = 1 << 20;
  const Tensor x = to_device(Tensor::zeros({elements}), first_);
  std::vector<Tensor> seen;
  for (int turn = 0; turn < 16; ++turn) {
    assign(Tensor::full({elements}, turn), x);
    seen.push_back(to_device(x, second_));  // must read x before x is overwritten
  }
  for (int turn = 0; turn < 16; ++turn) {
    const std::vector<float> values = seen[static_cast<std::size_t>(turn)].to_vector<float>();
    EXPECT_EQ(std::count(values.begin(), values.end(), static_cast<float>(turn)), elements) << turn;
  }
}

// Memory blocks are reused while work on them is still enqueued.
TEST_F(Devices, ReuseMemoryInOrder) {
  constexpr std::int64_t elements = 1 << 18;
  Tensor sum = to_device(Tensor::zeros({elements}), first_);
  for (int turn = 1; turn <= 32; ++turn) {
    const DeviceScope there(turn % 2 == 0 ? first_ : second_);
    sum = sum + Tensor::full({elements}, turn);
  }
  const std::vector<float> values = sum.to_vector<float>();
  EXPECT_EQ(std::count(values.begin(), values.end(), 528.0F), elements);
}

TEST_F(Devices, GradientsGoBackToWhereTheirTensorsAre) {
  const Tensor x = to_device(test::random_tensor({4}, 1), first_);
  GradientTape tape;
  tape.watch(x);
  const Tensor loss = with_device(second_, [&] { return sum(square(x)); });
  const Tensor dx = tape.gradient(loss, std::vector{x})[0];
  EXPECT_EQ(dx.device(), first_);
  std::vector<double> expected = x.to_vector<double>();
  for (double& value : expected) value *= 2;
  test::expect_close(dx, expected);
}

TEST_F(Devices, KeepToTheirBudget) {
  LogicalDevice small = second_;
  small.index = 7;
  small.memory_limit = 1 << 20;
  allocator(small);
  EXPECT_ERROR(OutOfMemory, "has no room for 4194304 bytes", Tensor::empty({1 << 20}, DType::f32, small));
  EXPECT_EQ(Tensor::empty({1 << 10}, DType::f32, small).device(), small);
}

// At the op where the device can detect it, else when a value is read.
TEST_F(Devices, RefuseIndicesOutsideTheirRange) {
  const DeviceScope there(first_);
  const Tensor table = Tensor::full({3, 2}, 1);
  const auto looked_up = [&](std::int64_t last) {
    return embedding_lookup(table, Tensor::from(std::vector<std::int64_t>{0, 1, last}, {3})).to_vector<float>();
  };
  EXPECT_THROW((void)looked_up(3), InvalidArgument);
  EXPECT_THROW((void)looked_up(-1), InvalidArgument);
  EXPECT_EQ(looked_up(2), std::vector<float>(6, 1));  // the error was thrown once and is gone
  const auto index = [](std::int64_t last) { return Tensor::from(std::vector<std::int64_t>{0, last}, {2, 1}); };
  EXPECT_THROW((void)take(table, index(3), 0).to_vector<float>(), InvalidArgument);
  EXPECT_THROW((void)take_along_axis(table, index(-4), 0).to_vector<float>(), InvalidArgument);
  EXPECT_THROW((void)scatter(index(5), table.slice_view(0, 0, 2), {5, 2}).to_vector<float>(), InvalidArgument);
  EXPECT_EQ(take(table, index(-3), 0).to_vector<float>(), std::vector<float>(4, 1));
}

TEST_F(Devices, SynchronizeWithoutErrors) {
  for (const LogicalDevice& device : devices_) EXPECT_NO_THROW(synchronize(device));
}

}  // namespace
}  // namespace lockstep
