#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/tensor/may_share_memory.h>
#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// 0, 1, 2, ... in a shape.
Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), 0.0F);
  return Tensor::from(values, shape);
}

TEST(Tensor, IsUndefinedAtFirst) {
  const Tensor none;
  EXPECT_FALSE(none.defined());
  EXPECT_EQ(none.id(), 0U);
  EXPECT_EQ(none.elements(), 0);
  EXPECT_EQ(none.text(), "an undefined tensor");
  EXPECT_THROW((void)none.device(), LogicError);
  EXPECT_THROW((void)none.data<float>(), LogicError);
  EXPECT_THROW((void)none.span<float>(), LogicError);
}

TEST(Tensor, HoldsACopyOfHostValues) {
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  const Tensor tensor = Tensor::from(values, {2, 3});
  values[0] = 99;
  EXPECT_THAT(tensor.to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor.strides(), (Shape{3, 1}));
  EXPECT_TRUE(tensor.is_dense());
  EXPECT_EQ(tensor.text(), "f32 (2, 3) on CPU:0");
}

TEST(Tensor, RejectsHostValuesThatDoNotFillTheShape) {
  EXPECT_THAT(
      [] {
        Tensor::from(std::vector<float>{1, 2, 3}, {2, 2});
      },
      ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("3 values"), HasSubstr("(2, 2)"))));
}

TEST(Tensor, HoldsEveryDtype) {
  EXPECT_EQ(Tensor::scalar<float>(1.5F).item<float>(), 1.5F);
  EXPECT_EQ(static_cast<float>(Tensor::scalar(bfloat16(1.5F)).item<bfloat16>()), 1.5F);
  EXPECT_EQ(Tensor::scalar<std::int32_t>(-7).item<std::int32_t>(), -7);
  EXPECT_EQ(Tensor::scalar<std::int64_t>(1LL << 40).item<std::int64_t>(), 1LL << 40);
  EXPECT_EQ(Tensor::scalar<std::uint8_t>(200).item<std::uint8_t>(), 200);
  EXPECT_TRUE(Tensor::scalar(true).item<bool>());
  EXPECT_THAT(Tensor::from<bool>({true, false, true}, {3}).to_vector<int>(), ElementsAre(1, 0, 1));
  EXPECT_EQ(Tensor::scalar<float>(1.5F).item<double>(), 1.5);
  EXPECT_EQ(Tensor::scalar(bfloat16(1.5F)).item<double>(), 1.5);
  EXPECT_EQ(Tensor::scalar<std::int64_t>(1LL << 40).item<double>(), 1099511627776.0);
}

TEST(Tensor, FillsWithAValueOfItsDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64, DType::u8}) {
    const Tensor tensor = Tensor::full({2, 2}, 3, dtype);
    EXPECT_EQ(tensor.dtype(), dtype);
    EXPECT_THAT(tensor.to_vector<float>(), ElementsAre(3, 3, 3, 3)) << name(dtype);
  }
  EXPECT_THAT(Tensor::full({2}, 1, DType::boolean).to_vector<bool>(), ElementsAre(true, true));
}

TEST(Tensor, RefusesToBeFilledWithWhatItsDtypeDoesNotHold) {
  const auto filled = [](double value, DType dtype) { return [=] { Tensor::full({2}, value, dtype); }; };
  EXPECT_THAT(filled(0.5, DType::i64),
              ThrowsMessage<InvalidArgument>(HasSubstr("full with 0.5 needs a dtype that can represent it")));
  EXPECT_THROW(filled(-1, DType::u8)(), InvalidArgument);
  EXPECT_THROW(filled(256, DType::u8)(), InvalidArgument);
  EXPECT_THROW(filled(3, DType::boolean)(), InvalidArgument);
  EXPECT_THROW(filled(2147483648.0, DType::i32)(), InvalidArgument);
  EXPECT_THROW(filled(std::nan(""), DType::i32)(), InvalidArgument);
  EXPECT_THROW(filled(9223372036854775808.0, DType::i64)(), InvalidArgument);
  EXPECT_EQ(Tensor::full({}, -9223372036854775808.0, DType::i64).item<std::int64_t>(),
            std::numeric_limits<std::int64_t>::min());
}

TEST(Tensor, ConvertsWhenCopiedToAVector) {
  EXPECT_THAT(Tensor::from(std::vector<std::uint8_t>{0, 255}, {2}).to_vector<double>(), ElementsAre(0.0, 255.0));
  EXPECT_THAT(Tensor::full({1}, 2.5).to_vector<std::int64_t>(), ElementsAre(2));
}

TEST(Tensor, MayBeEmpty) {
  const Tensor empty = Tensor::zeros({0, 3});
  EXPECT_TRUE(empty.defined());
  EXPECT_EQ(empty.elements(), 0);
  EXPECT_TRUE(empty.to_vector<float>().empty());
  EXPECT_EQ(empty.slice_view(0, 0, 0).shape(), (Shape{0, 3}));
}

TEST(Tensor, RejectsAShapeOfMoreBytesThanCanBeCounted) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT([&] { Tensor::empty({most}); }, ThrowsMessage<InvalidArgument>(HasSubstr("more than 2^63 - 1 bytes")));
  EXPECT_THROW(Tensor::empty({most, 2}), InvalidArgument);
  EXPECT_THROW(Tensor::empty({-1}), InvalidArgument);
}

TEST(Tensor, RejectsAccessAsAnotherType) {
  const Tensor tensor = counting({2});
  EXPECT_THAT([&] { (void)tensor.data<std::int32_t>(); },
              ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("f32"), HasSubstr("i32"))));
  EXPECT_THROW((void)tensor.span<std::uint8_t>(), InvalidArgument);
  EXPECT_NO_THROW((void)tensor.data<const float>());
}

TEST(Tensor, ItemNeedsOneElement) { EXPECT_THROW((void)counting({2}).item<float>(), InvalidArgument); }

TEST(TensorView, SharesTheElements) {
  const Tensor tensor = counting({2, 3});
  const Tensor view = tensor.view({3, 2});
  view.data<float>()[0] = 7;
  EXPECT_EQ(tensor.data<float>()[0], 7);
  EXPECT_FALSE(tensor.unique());
  EXPECT_NE(view.id(), tensor.id());
}

TEST(TensorView, MayShareMemoryWhereAddressesOverlap) {
  const Tensor tensor = counting({4, 3});
  const auto rows = [&](std::int64_t begin, std::int64_t end) { return tensor.slice_view(0, begin, end); };
  EXPECT_TRUE(may_share_memory(tensor, tensor.transposed_view()));
  EXPECT_TRUE(may_share_memory(rows(0, 2), rows(1, 3)));
  EXPECT_FALSE(may_share_memory(rows(0, 2), rows(2, 4)));
  EXPECT_TRUE(may_share_memory(tensor.slice_view(1, 0, 1), tensor.slice_view(1, 1, 2))) << "only ranges are compared";
  EXPECT_TRUE(may_share_memory(rows(1, 2).broadcast_view({5, 3}), rows(1, 2)));
  EXPECT_FALSE(may_share_memory(rows(1, 2).broadcast_view({5, 3}), rows(2, 3)));
  EXPECT_FALSE(may_share_memory(tensor, counting({4, 3})));
  EXPECT_FALSE(may_share_memory(tensor, rows(1, 1)));
  EXPECT_FALSE(may_share_memory(tensor, Tensor()));
}

TEST(TensorView, WorksOutOneSize) {
  const Tensor tensor = counting({2, 6});
  EXPECT_EQ(tensor.view({-1}).shape(), (Shape{12}));
  EXPECT_EQ(tensor.view({3, -1, 2}).shape(), (Shape{3, 2, 2}));
}

TEST(TensorView, RejectsShapesOfAnotherSize) {
  const Tensor tensor = counting({2, 6});
  EXPECT_THROW((void)tensor.view({13}), InvalidArgument);
  EXPECT_THROW((void)tensor.view({5, -1}), InvalidArgument);
  EXPECT_THROW((void)tensor.view({-1, -1}), InvalidArgument);
  EXPECT_THROW((void)tensor.view({-2, -6}), InvalidArgument);
  EXPECT_THROW((void)tensor.view({0, -1}), InvalidArgument);
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_THROW((void)tensor.view({huge, huge, -1}), InvalidArgument);
}

TEST(TensorView, RejectsAnotherShapeOfAStridedTensor) {
  EXPECT_THAT(
      [] {
        (void)counting({4, 4}).slice_view(1, 0, 2).view({8});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("strided")));
}

TEST(TensorTransposedView, ExchangesTwoAxes) {
  const Tensor tensor = counting({2, 3});
  const Tensor transposed = tensor.transposed_view();
  EXPECT_EQ(transposed.shape(), (Shape{3, 2}));
  EXPECT_FALSE(transposed.is_dense());
  EXPECT_EQ(transposed.raw_data(), tensor.raw_data());
  EXPECT_THAT(transposed.to_vector<float>(), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(tensor.slice_view(1, 1, 3).transposed_view().to_vector<float>(), ElementsAre(1, 4, 2, 5));
  const Tensor exchanged = counting({2, 3, 2}).transposed_view(-1, 0);
  EXPECT_EQ(exchanged.shape(), (Shape{2, 3, 2}));
  EXPECT_THAT(exchanged.to_vector<float>(), ElementsAre(0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11));
  EXPECT_THROW((void)counting({3}).transposed_view(), InvalidArgument);
}

TEST(TensorSlice, TakesARangeOfAnyAxis) {
  const Tensor tensor = counting({2, 3, 2});
  EXPECT_THAT(tensor.slice_view(0, 1, 2).to_vector<float>(), ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_THAT(tensor.slice_view(1, 1, 3).to_vector<float>(), ElementsAre(2, 3, 4, 5, 8, 9, 10, 11));
  EXPECT_THAT(tensor.slice_view(-1, 1, 2).to_vector<float>(), ElementsAre(1, 3, 5, 7, 9, 11));
  EXPECT_THAT(tensor.slice_view(1, 1, 3).slice_view(2, 0, 1).to_vector<float>(), ElementsAre(2, 4, 8, 10));
}

TEST(TensorSlice, IsDenseWhenItsElementsAreNeighbors) {
  const Tensor tensor = counting({2, 3, 2});
  EXPECT_TRUE(tensor.slice_view(0, 1, 2).is_dense());
  EXPECT_TRUE(tensor.slice_view(0, 0, 1).slice_view(1, 1, 3).is_dense());
  EXPECT_FALSE(tensor.slice_view(1, 1, 3).is_dense());
}

TEST(TensorSlice, RejectsRangesOutsideTheAxis) {
  const Tensor tensor = counting({2, 3});
  EXPECT_THAT([&] { (void)tensor.slice_view(1, 2, 4); }, ThrowsMessage<InvalidArgument>(HasSubstr("[2, 4)")));
  EXPECT_THROW((void)tensor.slice_view(1, -1, 2), InvalidArgument);
  EXPECT_THROW((void)tensor.slice_view(1, 2, 1), InvalidArgument);
  EXPECT_THROW((void)tensor.slice_view(2, 0, 1), InvalidArgument);
}

TEST(TensorSlice, SpanNeedsADenseTensor) {
  EXPECT_THROW((void)counting({2, 3}).slice_view(1, 0, 2).span<float>(), InvalidArgument);
}

TEST(TensorBroadcast, RepeatsWithoutACopy) {
  const Tensor row = counting({3});
  EXPECT_THAT(row.broadcast_view({2, 3}).to_vector<float>(), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(counting({2, 1}).broadcast_view({2, 2}).to_vector<float>(), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Tensor::scalar(4.0F).broadcast_view({2}).to_vector<float>(), ElementsAre(4, 4));
  EXPECT_THROW((void)row.broadcast_view({2}), InvalidArgument);
  EXPECT_THROW((void)row.broadcast_view({}), InvalidArgument);
}

TEST(TensorJoined, FindsTheTensorThatItsSlicesMakeUp) {
  const Tensor tensor = counting({2, 5});
  const std::vector<Tensor> parts{tensor.slice_view(1, 0, 2), tensor.slice_view(1, 2, 5)};
  const Tensor joined = Tensor::joined(parts, 1);
  ASSERT_TRUE(joined.defined());
  EXPECT_EQ(joined.shape(), tensor.shape());
  EXPECT_EQ(joined.raw_data(), tensor.raw_data());
  const std::vector<Tensor> rows{tensor.slice_view(0, 0, 1), tensor.slice_view(0, 1, 2)};
  EXPECT_EQ(Tensor::joined(rows, -2).raw_data(), tensor.raw_data());
}

TEST(TensorJoined, IsUndefinedForAnythingElse) {
  const Tensor tensor = counting({2, 5});
  const Tensor first = tensor.slice_view(1, 0, 2);
  const Tensor rest = tensor.slice_view(1, 2, 5);
  const auto joined = [](std::vector<Tensor> parts, int axis) { return Tensor::joined(parts, axis).defined(); };
  EXPECT_FALSE(joined({rest, first}, 1)) << "order";
  EXPECT_FALSE(joined({first, tensor.slice_view(1, 3, 5)}, 1)) << "a gap";
  EXPECT_FALSE(joined({first, tensor.slice_view(1, 2, 4)}, 1)) << "not all of it";
  EXPECT_FALSE(joined({first, counting({2, 3})}, 1)) << "other memory";
  EXPECT_FALSE(joined({first, rest.slice_view(0, 0, 1)}, 1)) << "another height";
  EXPECT_FALSE(joined({first, rest}, 0)) << "another axis";
  EXPECT_FALSE(joined({}, 0));
  EXPECT_FALSE(joined({Tensor(), Tensor()}, 0));
}

TEST(TensorIdentity, IsSharedByCopiesOfAHandleOnly) {
  const Tensor tensor = counting({2});
  const Tensor same = tensor;  // NOLINT(performance-unnecessary-copy-initialization): the copy is what is tested
  EXPECT_EQ(same.id(), tensor.id());
  EXPECT_NE(counting({2}).id(), tensor.id());
}

TEST(TensorIdentity, KnowsWhatItWasComputedFrom) {
  const Tensor x = Tensor::full({2}, 3);
  const Tensor plain = Tensor::zeros({2});
  const Tensor y = plain.with_origin("double", x);
  EXPECT_EQ(y.id(), plain.id());
  EXPECT_EQ(y.raw_data(), plain.raw_data());
  EXPECT_EQ(y.origin("double").id(), x.id());
  EXPECT_FALSE(y.origin("triple").defined());
  EXPECT_FALSE(plain.origin("double").defined());
  EXPECT_FALSE(y.view({2, 1}).origin("double").defined());
  EXPECT_FALSE(y.as_parameter().origin("double").defined());

  const std::size_t before = allocator(x.device()).stats().bytes_in_use;
  Tensor kept = Tensor::zeros({1000}).with_origin("double", Tensor::zeros({1000}));
  EXPECT_GE(allocator(x.device()).stats().bytes_in_use, before + 8000);
  kept = {};
  EXPECT_EQ(allocator(x.device()).stats().bytes_in_use, before);
}

TEST(TensorIdentity, AParameterIsTheSameMemoryUnderANewId) {
  const Tensor tensor = counting({2});
  const Tensor parameter = tensor.as_parameter();
  EXPECT_TRUE(parameter.is_parameter());
  EXPECT_FALSE(tensor.is_parameter());
  EXPECT_NE(parameter.id(), tensor.id());
  EXPECT_EQ(parameter.raw_data(), tensor.raw_data());
}

TEST(Tensor, OnADeviceThatIsNotThereIsRefused) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "this machine has a GPU";
  const LogicalDevice gpu{DeviceKind::gpu, 0};
  EXPECT_THAT([&] { (void)Tensor::empty({1}, DType::f32, gpu); },
              ThrowsMessage<Unsupported>(AllOf(HasSubstr("GPU:0 cannot be used"), HasSubstr(why_no_gpu()))));
}

TEST(TensorCopy, CopiesTheElements) {
  const Tensor to = Tensor::zeros({2, 2});
  copy(counting({2, 2}), to);
  EXPECT_THAT(to.to_vector<float>(), ElementsAre(0, 1, 2, 3));
}

TEST(TensorCopy, RejectsWhatDoesNotFit) {
  const Tensor tensor = counting({2, 2});
  EXPECT_THROW(copy(counting({4}), tensor), InvalidArgument);
  EXPECT_THROW(copy(Tensor::zeros({2, 2}, DType::i32), tensor), InvalidArgument);
  EXPECT_THROW(copy(counting({2, 4}).slice_view(1, 0, 2), tensor), InvalidArgument);
  EXPECT_THROW(copy(Tensor(), Tensor::scalar(1.0F)), InvalidArgument);
}

}  // namespace
}  // namespace lockstep
