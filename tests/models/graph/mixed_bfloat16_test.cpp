// Casts that a network inserts, or omits, between layers of different dtype policies.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/devices.h>
#include <support/tensors.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/compat/multi_gpu_model.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/runtime/thread/device_scope.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

namespace lockstep::test {
namespace {

using testing::ElementsAre;

constexpr DTypePolicy float32 = DTypePolicy::float32;
constexpr DTypePolicy mixed = DTypePolicy::mixed_bfloat16;

/// The inputs that a layer received.
struct Seen {
  std::vector<DType> dtypes;
  std::vector<const void*> places;
};

/// Returns its input.
class Probe final : public LayerImpl {
 public:
  Probe(std::string name, Seen& seen, bool has_bf16)
      : LayerImpl(std::move(name), {.can_compute_in_bf16 = has_bf16}), seen_(seen) {}
  std::string_view class_name() const override { return "Probe"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return inputs[0]; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    seen_.dtypes.push_back(inputs[0].dtype());
    seen_.places.push_back(inputs[0].raw_data());
    return inputs[0];
  }

 private:
  Seen& seen_;
};

Layer probe(DTypePolicy policy, Seen& seen, bool has_bf16 = true) {
  return with_dtype_policy(policy, [&] { return Layer(std::make_shared<Probe>("", seen, has_bf16)); });
}

TEST(MixedNetwork, CastsWhatALayerReads) {
  Seen first;
  Seen second;
  Seen third;
  const Symbol x = Input({4});
  const Network network(x, probe(float32, third)(probe(mixed, second)(probe(float32, first)(x))), 0);
  const Tensor y = network(random_tensor({2, 4}, 1), Mode::inference);
  EXPECT_THAT(first.dtypes, ElementsAre(DType::f32));
  EXPECT_THAT(second.dtypes, ElementsAre(DType::bf16));
  EXPECT_THAT(third.dtypes, ElementsAre(DType::f32));
  EXPECT_EQ(y.dtype(), DType::f32);
}

TEST(MixedNetwork, ALayerWithoutBf16ComputesInF32AndGivesBf16) {
  Seen seen;
  Seen after;
  const Symbol x = Input({4});
  const Network network(x, probe(mixed, after)(probe(mixed, seen, false)(x)), 0);
  EXPECT_EQ(network(random_tensor({2, 4}, 1), Mode::inference).dtype(), DType::bf16);
  EXPECT_THAT(seen.dtypes, ElementsAre(DType::f32));
  EXPECT_THAT(after.dtypes, ElementsAre(DType::bf16));
}

TEST(MixedNetwork, CastsOnceForAllReaders) {
  Seen readers;
  const Symbol x = Input({4});
  const Layer a = probe(mixed, readers);
  const Layer b = probe(mixed, readers);
  const Symbol both = with_dtype_policy(mixed, [&] { return Add()({a(x), b(x), a(x)}); });
  const Network network(x, both, 0);
  network(random_tensor({2, 4}, 1), Mode::inference);
  EXPECT_THAT(readers.dtypes, ElementsAre(DType::bf16, DType::bf16, DType::bf16));
  EXPECT_EQ(readers.places, std::vector(3, readers.places[0]));
}

TEST(MixedNetwork, CastsNothingInF32) {
  Seen seen;
  const Symbol x = Input({4});
  const Network network(x, probe(float32, seen)(probe(float32, seen, false)(x)), 0);
  const Tensor batch = random_tensor({2, 4}, 1);
  EXPECT_EQ(network(batch, Mode::inference).raw_data(), batch.raw_data());
  EXPECT_EQ(seen.places, std::vector<const void*>(2, batch.raw_data()));
}

TEST(MixedNetwork, LeavesIdsAsTheyAre) {
  Seen seen;
  const DTypePolicyScope scope(mixed);
  const Symbol x = Input({2});
  const Network network(x, Embedding({.input_dim = 1000, .output_dim = 3})(probe(mixed, seen)(x)), 0);
  const Tensor ids = Tensor::from(std::vector<std::int64_t>{257, 511, 999, 3}, {2, 2});
  const Tensor y = network(ids, Mode::inference);
  EXPECT_THAT(seen.dtypes, ElementsAre(DType::i64));
  EXPECT_EQ(y.dtype(), DType::bf16);
  const Tensor row = network.variables()[0].value().slice_view(0, 999, 1000);
  expect_same_bits(y.slice_view(0, 1, 2).slice_view(1, 0, 1), reshape(cast(row, DType::bf16), {1, 1, 3}));
}

/// Which results are written in place, if the last layer has its own policy.
Network joined(DTypePolicy left, DTypePolicy right, DTypePolicy join) {
  const Symbol x = Input({6, 6, 3});
  const Symbol a = with_dtype_policy(left, [&] { return ReLU()(BatchNormalization()(x)); });
  const Symbol b = with_dtype_policy(right, [&] { return MaxPooling2D({.pool_size = {1, 1}})(x); });
  return {x, with_dtype_policy(join, [&] { return Concatenate()({a, b}); }), 0};
}

TEST(MixedNetwork, AConcatenationHasThePartsOfAnyPolicies) {
  const Tensor batch = cast(cast(random_tensor({2, 6, 6, 3}, 1), DType::bf16), DType::f32);
  const Tensor expected = joined(float32, float32, float32)(batch, Mode::train);
  for (const DTypePolicy left : {float32, mixed})
    for (const DTypePolicy right : {float32, mixed})
      for (const DTypePolicy join : {float32, mixed}) {
        const Tensor y = joined(left, right, join)(batch, Mode::train);
        EXPECT_EQ(y.dtype(), compute_dtype(join));
        expect_same_bits(cast(y.slice_view(-1, 3, 6), DType::f32), batch);
        const std::vector<double> parts = y.to_vector<double>();
        EXPECT_THAT(
            parts, testing::Pointwise(testing::DoubleNear(tolerance(DType::bf16, 1, 2)), expected.to_vector<double>()));
      }
}

TEST(MixedNetwork, ASharedLayerHasOneGradient) {
  const DTypePolicyScope scope(mixed);
  const Symbol x = Input({4});
  const Dense shared({.units = 4});
  const Network network(x, shared(shared(x)), 1);
  const Tensor kernel = network.variables()[0].value();
  GradientTape tape;
  const Tensor loss = sum(cast(network(random_tensor({3, 4}, 1), Mode::train), DType::f32));
  const std::vector<Tensor> gradients = tape.gradient(loss, std::vector{kernel});
  EXPECT_EQ(gradients[0].dtype(), DType::f32);
}

TEST(MixedNetwork, AModelInAModelKeepsItsPolicy) {
  const Sequential inner = with_dtype_policy(mixed, [] { return Sequential({4}, {Dense({.units = 3}), ReLU()}); });
  const Symbol x = Input({4});
  const Model outer(x, Dense({.units = 2})(inner(x)));
  EXPECT_EQ(inner(random_tensor({2, 4}, 1)).dtype(), DType::bf16);
  EXPECT_EQ(outer(random_tensor({2, 4}, 1)).dtype(), DType::f32);
}

TEST(MixedNetwork, MultiGpuModelGivesWhatItsTemplateGives) {
  const Model ids = with_dtype_policy(mixed, [] {
    const Symbol x = Input({2});
    return Model(x, Flatten()(Embedding({.input_dim = 1000, .output_dim = 3})(x)));
  });
  const DTypePolicyScope other(mixed);
  const Tensor batch = Tensor::from(std::vector<float>{257, 511, 999, 3, 301, 302}, {3, 2});
  const Model plain = with_dtype_policy(float32, [] { return Sequential({2}, {Dense({.units = 3})}); });
  const std::vector<std::string> devices{"CPU:0", "CPU:1"};
  expect_same_bits(multi_gpu_model(ids, {.devices = devices})(batch), ids(batch));
  expect_close(multi_gpu_model(plain, {.devices = devices})(batch), plain(batch).to_vector<double>(), 2);
}

TEST(MixedNetwork, LayersOnOtherDevicesReadCopiesInTheirDType) {
  const DTypePolicyScope scope(mixed);
  const std::vector<LogicalDevice> two = devices(2);
  const Symbol x = Input({4});
  const Symbol far = with_device(two[1], [&] { return Dense({.units = 3})(x); });
  const Symbol near = with_device(two[0], [&] { return Dense({.units = 3})(x); });
  const Network network(x, with_device(two[1], [&] { return Add()({near, far}); }), 0);
  const Tensor y = network(random_tensor({2, 4}, 1), Mode::inference);
  EXPECT_EQ(y.dtype(), DType::bf16);
  EXPECT_EQ(y.device(), two[1]);
}

TEST(MixedNetwork, TheSummaryNamesPoliciesThatAreNotTheUsualOne) {
  const Symbol x = Input({4});
  const Dense last({.units = 1});
  const Network network(x, last(with_dtype_policy(mixed, [&] { return Dense({.units = 3})(x); })), 0);
  EXPECT_THAT(network.summary("m"), testing::HasSubstr("dense (Dense, mixed_bfloat16)"));
  EXPECT_THAT(network.summary("m"), testing::HasSubstr("dense_1 (Dense) "));
}

}  // namespace
}  // namespace lockstep::test
