#include <cstddef>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/thread/device_scope.h>
#include <lockstep/runtime/thread/parallel.h>

#include "tape_testing.h"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::ThrowsMessage;

TEST(Tape, DifferentiatesAnOp) {
  const Tensor x = values({1, -2, 3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(x);
  EXPECT_THAT(read(tape.gradient(y, std::vector{x})[0]), ElementsAre(2, -4, 6));
}

TEST(Tape, FollowsTheChainRule) {
  const Tensor x = values({2});
  GradientTape tape;
  tape.watch(x);
  EXPECT_THAT(read(tape.gradient(square(square(x)), std::vector{x})[0]), ElementsAre(4 * 8));  // (x^4)' = 4 x^3
}

TEST(Tape, AddsUpTheUsesOfATensor) {
  const Tensor x = values({3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(x);
  const Tensor z = multiply(multiply(x, y), x);  // x^4
  EXPECT_THAT(read(tape.gradient(z, std::vector{x})[0]), ElementsAre(4 * 27));
}

TEST(Tape, GivesEachSourceItsGradientAndNoneToOthers) {
  const Tensor a = values({2});
  const Tensor b = values({5});
  const Tensor unrelated = values({1});
  GradientTape tape;
  for (const Tensor& tensor : {a, b, unrelated}) tape.watch(tensor);
  const auto gradients = tape.gradient(multiply(a, b), std::vector{b, unrelated, a});
  EXPECT_THAT(read(gradients[0]), ElementsAre(2));
  EXPECT_FALSE(gradients[1].defined());
  EXPECT_THAT(read(gradients[2]), ElementsAre(5));
}

TEST(Tape, DifferentiatesWithRespectToWhatItComputed) {
  const Tensor x = values({3});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = square(x);
  const auto gradients = tape.gradient(square(y), std::vector{y, x});
  EXPECT_THAT(read(gradients[0]), ElementsAre(18));
  EXPECT_THAT(read(gradients[1]), ElementsAre(108));
}

TEST(Tape, TargetMayBeASource) {
  const Tensor x = values({3, 4});
  GradientTape tape;
  tape.watch(x);
  EXPECT_THAT(read(tape.gradient(x, std::vector{x})[0]), ElementsAre(1, 1));
}

TEST(Tape, RecordsOnlyOpsOnTrackedTensors) {
  const Tensor x = values({3});
  const Tensor constant = values({4});
  EXPECT_FALSE(recording({x}));
  GradientTape tape;
  EXPECT_FALSE(recording({x, constant}));
  tape.watch(x);
  EXPECT_TRUE(recording({constant, x}));
  EXPECT_FALSE(recording({constant}));
  EXPECT_TRUE(recording({square(x)}));
}

TEST(Tape, DoesNotAskForGradientsThatNobodyWants) {
  const Tensor x = values({3});
  const Tensor constant = values({4});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = plain_product(x, constant);
  record("probe", {constant, x}, y, [&](BackwardContext& context) {
    EXPECT_FALSE(context.needs(0));
    EXPECT_TRUE(context.needs(1));
    EXPECT_THROW((void)context.contributed(0), BrokenInvariant);
    context.set(1, constant, false);
  });
  EXPECT_THAT(read(tape.gradient(y, std::vector{x})[0]), ElementsAre(4));
}

TEST(Tape, WatchesParametersUnasked) {
  const Tensor weight = values({3}).as_parameter();
  GradientTape tape;
  const Tensor y = square(weight);
  EXPECT_THAT(read(tape.gradient(y, std::vector{weight})[0]), ElementsAre(6));
}

TEST(Tape, NestedTapesEachRecordForThemselves) {
  const Tensor x = values({3});
  GradientTape outer;
  outer.watch(x);
  Tensor y;
  {
    GradientTape inner;
    inner.watch(x);
    y = square(x);
    EXPECT_THAT(read(inner.gradient(y, std::vector{x})[0]), ElementsAre(6));
  }
  EXPECT_THAT(read(outer.gradient(square(y), std::vector{x})[0]), ElementsAre(108));
}

TEST(Tape, StopsRecordingWhenItEnds) {
  const Tensor x = values({3}).as_parameter();
  { const GradientTape tape; }
  EXPECT_FALSE(recording({x}));
}

TEST(Tape, RecordsNothingWithinANoGradientScope) {
  const Tensor x = values({3}).as_parameter();
  const GradientTape tape;
  {
    const NoGradientScope outer;
    { const NoGradientScope inner; }
    EXPECT_FALSE(recording({x}));
  }
  EXPECT_TRUE(recording({x}));
}

TEST(Tape, RecordsNothingOfOtherThreads) {
  const Tensor x = values({3}).as_parameter();
  const GradientTape tape;
  std::jthread([&] { EXPECT_FALSE(recording({x})); });
}

TEST(Tape, MayEndOnAnotherThread) {
  const Tensor x = values({3}).as_parameter();
  auto first = std::make_unique<GradientTape>();
  {
    const GradientTape second;
    std::jthread([&] { first.reset(); });
    EXPECT_TRUE(recording({x}));
  }
  EXPECT_FALSE(recording({x}));
  std::jthread([&] { first = std::make_unique<GradientTape>(); });
  EXPECT_FALSE(recording({x}));
  first.reset();  // after the thread that made it has ended
}

TEST(Tape, ServesOnce) {
  const Tensor x = values({3}).as_parameter();
  GradientTape tape;
  const Tensor y = square(x);
  (void)tape.gradient(y, std::vector{x});
  EXPECT_THROW((void)tape.gradient(y, std::vector{x}), LogicError);
}

TEST(Tape, RejectsATargetThatItDidNotRecord) {
  GradientTape tape;
  EXPECT_THROW((void)tape.gradient(values({1}), {}), LogicError);
  EXPECT_THROW((void)tape.gradient(Tensor(), {}), LogicError);
}

TEST(Tape, KnowsWhetherAnotherOneRecordsItsGradient) {
  const Tensor x = values({3});
  const auto is_recorded = [&](GradientTape& tape, const Tensor& output_gradient = {}) {
    tape.watch(x);
    const Tensor y = plain_sum(x, x);
    bool result = false;
    record("twice", {x}, y, [&](BackwardContext& context) { result = context.is_recorded(); });
    (void)tape.gradient(y, std::vector{x}, output_gradient);
    return result;
  };
  GradientTape alone;
  EXPECT_FALSE(is_recorded(alone));
  GradientTape outer;
  const Tensor weight = values({2});
  outer.watch(weight);
  GradientTape of_another_tensor;
  EXPECT_FALSE(is_recorded(of_another_tensor)) << "the outer tape tracks neither x nor the gradient";
  GradientTape of_the_output_gradient;
  EXPECT_TRUE(is_recorded(of_the_output_gradient, weight));
  outer.watch(x);
  GradientTape inner;
  EXPECT_TRUE(is_recorded(inner));
  GradientTape paused;
  const NoGradientScope nothing;
  EXPECT_FALSE(is_recorded(paused));
}

TEST(Tape, RejectsAnOutputGradientOfAnotherShapeOrDtype) {
  const Tensor x = values({1, 2}).as_parameter();
  for (const Tensor& wrong : {values({1}), Tensor::zeros({2}, DType::bf16)}) {
    GradientTape tape;
    const Tensor y = square(x);
    EXPECT_THAT([&] { (void)tape.gradient(y, std::vector{x}, wrong); },
                ThrowsMessage<InvalidArgument>(HasSubstr("output_gradient")));
  }
}

TEST(Tape, RejectsASourceGivenTwice) {
  const Tensor x = values({3}).as_parameter();
  GradientTape tape;
  EXPECT_THROW((void)tape.gradient(square(x), std::vector{x, x}), InvalidArgument);
}

TEST(Tape, ErrorsOfAGradientNameTheOpAndKeepTheirType) {
  const Tensor x = values({3}).as_parameter();
  GradientTape tape;
  const Tensor y = plain_product(x, x);
  record("conv2d", {x}, y, [](BackwardContext&) { fail<Unsupported>("not on this device"); });
  EXPECT_THAT([&] { (void)tape.gradient(y, std::vector{x}); },
              ThrowsMessage<Unsupported>("gradient of conv2d: not on this device"));
}

TEST(Tape, GradientsInADeviceScopeUseItsCoresWhoeverWasThereBefore) {
  const LogicalDevice one_core{.kind = DeviceKind::cpu, .index = 9, .cores = 1};
  const LogicalDevice two_cores{.kind = DeviceKind::cpu, .index = 9, .cores = 2};
  (void)Tensor::empty({3}, DType::f32, one_core);
  const ComputeThreadsScope three(3);
  const Tensor x = values({3}).as_parameter();
  GradientTape tape;
  const auto probe = [](const Tensor& input) {
    const Tensor result = values({3});
    record("probe", {input}, result, [](BackwardContext& context) {
      EXPECT_EQ(compute_threads(), 2);
      context.set(0, values({3}), true);
    });
    return result;
  };
  const Tensor y = with_device(two_cores, [&] {
    const Tensor first = probe(x);
    const ContextScope where_it_lies(context_on(first.device()));  // like ops that compute on their input's device
    return probe(first);
  });
  EXPECT_THAT(read(tape.gradient(y, std::vector{x})[0]), ElementsAre(3));
}

TEST(Tape, ReleasesWhatOpsKeptAsSoonAsTheyAreDone) {
  const Tensor x = values({3}).as_parameter();
  GradientTape tape;
  const Tensor first = plain_product(x, x);
  const auto kept = std::make_shared<int>(0);
  record("first", {x}, first, [kept](BackwardContext& context) {
    EXPECT_EQ(kept.use_count(), 2);
    context.set(0, context.gradient(0), false);
  });
  const Tensor second = plain_product(first, first);
  record("second", {first}, second, [kept](BackwardContext& context) {
    EXPECT_EQ(kept.use_count(), 3);
    context.set(0, context.gradient(0), false);
  });
  (void)tape.gradient(second, std::vector{x});
  EXPECT_EQ(kept.use_count(), 1);
}

TEST(Tape, KnowsHowAnOutputIsMadeAgainUntilItsGradient) {
  const Tensor x = values({3});
  const auto kept = std::make_shared<int>(0);
  int made = 0;
  const auto cube = [&] {
    const Tensor y = plain_product(x, plain_product(x, x));
    record("cube", {x}, y, [kept](BackwardContext& context) {
      EXPECT_EQ(kept.use_count(), 2) << "the way to make it again has been dropped";
      context.set(0, context.gradient(0), false);
    });
    record_recompute(y, [kept, x, &made](const Tensor& out) {
      ++made;
      copy(plain_product(x, plain_product(x, x)), out);
    });
    return y;
  };
  EXPECT_FALSE(recompute_of(cube())) << "no tape";
  GradientTape outer;
  EXPECT_FALSE(recompute_of(cube())) << "a tape that does not track x";
  outer.watch(x);
  const Tensor y = cube();
  EXPECT_TRUE(recompute_of(y));
  {
    const auto first_reader = recomputed(y);
    const auto second_reader = recomputed(y);
    EXPECT_EQ(made, 0);
    EXPECT_EQ(first_reader->tensor().span<float>()[0], 27);
    EXPECT_EQ(second_reader->tensor().raw_data(), first_reader->tensor().raw_data());
    EXPECT_EQ(made, 1);
  }
  EXPECT_EQ(recomputed(y)->tensor().span<float>()[0], 27);
  EXPECT_EQ(made, 2) << "it is gone with those who read it";
  EXPECT_EQ(recomputed(x), nullptr);
  EXPECT_FALSE(recompute_of(square(y))) << "an op that said nothing";
  {
    const GradientTape inner;
    EXPECT_TRUE(recompute_of(y)) << "of a tape further out";
  }
  (void)outer.gradient(y, std::vector{x});
  EXPECT_FALSE(recompute_of(y));
  EXPECT_EQ(kept.use_count(), 1);
}

using Reports = std::vector<std::pair<int, bool>>;

TEST(TapeBackward, WritesGradientsToTheMemoryOfTheCaller) {
  const Tensor a = values({2}).as_parameter();
  const Tensor b = values({5}).as_parameter();
  const Tensor gradients = Tensor::full({2}, -1);
  const std::vector<GradientTape::Slot> slots{{a, gradients.slice_view(0, 0, 1)}, {b, gradients.slice_view(0, 1, 2)}};
  GradientTape tape;
  const Tensor y = multiply(square(a), multiply(a, b));  // a^3 b
  tape.backward(y, slots, [](int, const DenseOrSparse&) {});
  EXPECT_THAT(read(gradients), ElementsAre(3 * 4 * 5, 8));
}

TEST(TapeBackward, ReportsASlotOnceAndAsSoonAsItIsFinal) {
  const Tensor a = values({2}).as_parameter();
  const Tensor b = values({5}).as_parameter();
  const Tensor unused = values({1}).as_parameter();
  const Tensor untouched = Tensor::full({1}, -1);
  const std::vector<GradientTape::Slot> slots{{a, Tensor::zeros({1})}, {b, Tensor::zeros({1})}, {unused, untouched}};
  GradientTape tape;
  const Tensor squared = square(a);                    // reads a first: final last
  const Tensor y = multiply(multiply(squared, a), b);  // b: read once, by the last op
  Reports reports;
  tape.backward(y, slots, [&](int slot, const DenseOrSparse& gradient) {
    reports.emplace_back(slot, is_defined(gradient));
    const std::vector<float> expected{3 * 4 * 5, 8};
    if (is_defined(gradient)) {
      EXPECT_EQ(read(slots[slot].destination), std::vector{expected.at(static_cast<std::size_t>(slot))});
    }
  });
  EXPECT_THAT(reports, ElementsAre(Pair(2, false), Pair(1, true), Pair(0, true)));
  EXPECT_THAT(read(untouched), ElementsAre(-1));
}

TEST(TapeBackward, WritesOnesWhereTheTargetIsItselfASource) {
  const Tensor a = values({2, 3});
  const std::vector<GradientTape::Slot> slots{{a, Tensor::zeros({2})}};
  GradientTape tape;
  tape.watch(a);
  Reports reports;
  tape.backward(a, slots,
                [&](int slot, const DenseOrSparse& gradient) { reports.emplace_back(slot, is_defined(gradient)); });
  EXPECT_THAT(reports, ElementsAre(Pair(0, true)));
  EXPECT_THAT(read(slots[0].destination), ElementsAre(1, 1));
}

TEST(TapeBackward, DoesNotReportASlotOfADeadBranchAsReached) {
  const Tensor a = values({2}).as_parameter();
  const Tensor b = values({5}).as_parameter();
  const std::vector<GradientTape::Slot> slots{{a, Tensor::zeros({1})}, {b, Tensor::full({1}, -1)}};
  GradientTape tape;
  const Tensor dead = square(b);
  const Tensor y = square(a);
  Reports reports;
  tape.backward(y, slots,
                [&](int slot, const DenseOrSparse& gradient) { reports.emplace_back(slot, is_defined(gradient)); });
  EXPECT_THAT(reports, testing::UnorderedElementsAre(Pair(0, true), Pair(1, false)));
  EXPECT_THAT(read(slots[1].destination), ElementsAre(-1));
  EXPECT_TRUE(dead.defined());
}

TEST(TapeBackward, AnExceptionOfTheHookReachesTheCaller) {
  const Tensor a = values({2}).as_parameter();
  const std::vector<GradientTape::Slot> slots{{a, Tensor::zeros({1})}};
  {
    GradientTape tape;
    const Tensor y = square(a);
    EXPECT_THROW(tape.backward(y, slots, [](int, const DenseOrSparse&) { throw std::runtime_error("hook"); }),
                 std::runtime_error);
  }
  GradientTape next;
  EXPECT_TRUE(recording({a})) << "recording continues after a failed pass";
}

}  // namespace
}  // namespace lockstep::test
