#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <support/replicas.h>
#include <support/small_problem.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/random/dropout.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/graph/remat_scope.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/added_losses.h>
#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/layer_normalization.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/time_distributed.h>
#include <lockstep/models/serialization/network_config.h>
#include <lockstep/runtime/autograd/recompute_grad.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/runtime/thread/device_scope.h>

namespace lockstep::test {
namespace {

/// build() in a RematScope if `remat`.
template <class Build>
auto with_remat(bool remat, const Build& build) {
  if (!remat) return build();
  const RematScope scope;
  return build();
}

constexpr std::int64_t examples = 11;

Tensor pixels() { return random_tensor({examples, 6, 6, 2}, 1); }
Tensor sequences() { return random_tensor({examples, 5, 8}, 2); }
/// Ids from 0 to 6; every sequence ends with zeros.
Tensor ids() {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < examples * 5; ++i) values.push_back(i % 5 >= 3 ? 0 : 1 + (i * i) % 6);
  return Tensor::from(values, {examples, 5});
}

/// Adds the mean of its input's squares to the loss.
class AddsSquaresImpl : public LayerImpl {
 public:
  AddsSquaresImpl() : LayerImpl("adds_squares") {}
  std::string_view class_name() const override { return "AddsSquares"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return inputs[0]; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    add_loss(mean(square(inputs[0])));
    return inputs[0];
  }
};

Symbol classify(const Symbol& x) { return Dense({.units = 3})(x); }

/// A shared layer in and outside the block, batch normalization, dropout, and fusions over the block's borders.
Model of_convolutions(bool remat) {
  const Symbol x = Input({6, 6, 2});
  const Conv2D shared({.filters = 4, .kernel_size = {3, 3}, .padding = Padding::same});
  const Symbol before = shared(Concatenate()({x, x}));
  Symbol inner = before;
  const Symbol after = with_remat(remat, [&] {
    inner = ActivationLayer(Activation::relu)(BatchNormalization({.momentum = 0.5})(shared(before)));
    const Symbol dropped = Dropout({.rate = 0.3})(inner);
    const Symbol joined = Concatenate()({Conv2D({.filters = 4, .kernel_size = {1, 1}})(dropped), before});
    return Conv2D({.filters = 4, .kernel_size = {1, 1}})(joined);
  });
  const Symbol added = ActivationLayer(Activation::relu)(Add()({after, before}));
  const Symbol joined = Concatenate()({added, Conv2D({.filters = 2, .kernel_size = {1, 1}})(inner)});
  return {x, classify(GlobalAveragePooling2D()(joined)), {.seed = 5}};
}

/// Masked sequences of ids, whose gradient is sparse, and dropout in all layers that have it.
Model of_masked_sequences(bool remat) {
  const Symbol x = Input({5});
  const Symbol last = with_remat(remat, [&] {
    const Symbol y = Embedding({.input_dim = 7, .output_dim = 8, .mask_zero = true})(x);
    const Symbol z = GRU({.units = 4, .return_sequences = true, .dropout = 0.2, .recurrent_dropout = 0.2})(y);
    const Symbol attended = MultiHeadAttention({.num_heads = 2, .key_dim = 3, .dropout = 0.2})({z, z});
    return LSTM({.units = 4})(LayerNormalization()(Add()({z, SpatialDropout1D({.rate = 0.2})(attended)})));
  });
  return {x, classify(last), {.seed = 5}};
}

/// The losses that a layer adds, and softmax as the last layer, whose logits the loss reads.
Model of_softmax_and_added_losses(bool remat) {
  const Symbol x = Input({5, 8});
  const Symbol y = with_remat(remat, [&] {
    const Symbol steps = TimeDistributed(BatchNormalization())(TimeDistributed(Dense({.units = 4}))(x));
    const Symbol by_step = TimeDistributed(Layer(std::make_shared<AddsSquaresImpl>()))(steps);
    const Symbol added = Layer(std::make_shared<AddsSquaresImpl>())(by_step);
    return Dense({.units = 3, .activation = Activation::softmax, .kernel_regularizer = L2(0.1)})(Flatten()(added));
  });
  return {x, y, {.seed = 5}};
}

/// A model with two blocks that is called twice in another one, the second time in a block.
Model of_models(bool remat) {
  const Symbol inner = Input({5, 8});
  const Symbol wide = with_remat(remat, [&] {
    return GaussianNoise({.stddev = 0.1})(Dense({.units = 9, .activation = Activation::gelu})(inner));
  });
  const Symbol narrow =
      with_remat(remat, [&] { return Dense({.units = 8})(BatchNormalization({.synchronized = true})(wide)); });
  const Model part(inner, narrow, {.name = "part"});
  const Symbol x = Input({5, 8});
  const Symbol once = part(x);
  const Symbol twice = with_remat(remat, [&] { return Add()({part(once), x}); });
  return {x, classify(Flatten()(twice)), {.seed = 5}};
}

struct RematCase {
  const char* name;
  std::function<Model(bool remat)> make;
  std::function<Tensor()> x;
  bool from_logits = true;
};

using RematRun = std::pair<std::vector<double>, std::vector<std::vector<double>>>;

/// The losses and the variables, statistics included, after steps on batches of 5, 5 and 1 examples.
RematRun trained(const RematCase& of, int replicas, bool remat) {
  const MirroredStrategy strategy = mirrored(replicas);
  Model model = strategy.scope([&] { return of.make(remat); });
  model.compile(SGD({.learning_rate = 0.1, .momentum = 0.9}),
                SparseCategoricalCrossentropy{{.from_logits = of.from_logits}});
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < examples; ++i) labels.push_back(i % 3);
  const Dataset data = Dataset::from_tensors(of.x(), Tensor::from(labels, {examples})).batch(5);
  const History history = model.fit(data, {.epochs = 2, .verify_every = 1});
  return {history.values.at("loss"), weights_of(model)};
}

class RematScopeOf : public testing::TestWithParam<RematCase> {};

TEST_P(RematScopeOf, TrainsToTheSameBits) {
  for (const int replicas : {1, 3}) {
    SCOPED_TRACE(replicas);
    const RematRun expected = trained(GetParam(), replicas, false);
    EXPECT_EQ(trained(GetParam(), replicas, true), expected);
  }
}

TEST_P(RematScopeOf, TrainsToTheSameBitsInBfloat16) {
  const DTypePolicyScope policy(DTypePolicy::mixed_bfloat16);
  EXPECT_EQ(trained(GetParam(), 2, true), trained(GetParam(), 2, false));
}

INSTANTIATE_TEST_SUITE_P(Models, RematScopeOf,
                         testing::Values(RematCase{"Convolutions", of_convolutions, pixels},
                                         RematCase{"MaskedSequences", of_masked_sequences, ids},
                                         RematCase{"SoftmaxAndAddedLosses", of_softmax_and_added_losses, sequences,
                                                   false},
                                         RematCase{"Models", of_models, sequences}),
                         [](const auto& info) { return info.param.name; });

TEST(RematScope, IsNotInFiles) {
  const auto config = [](const Model& model) { return network_config(keras_model(model.network(), "model")); };
  EXPECT_EQ(config(of_convolutions(true)), config(of_convolutions(false)));
}

/// A network of eight blocks with hidden layers of 64 times their width.
Network of_wide_blocks(bool remat) {
  const Symbol x = Input({16});
  Symbol y = x;
  for (int block = 0; block < 8; ++block)
    y = with_remat(remat,
                   [&] { return Dense({.units = 16})(Dense({.units = 1024, .activation = Activation::gelu})(y)); });
  return {x, y, 3};
}

TEST(RematScope, KeepsTheHiddenTensorsOfOneBlock) {
  const Tensor x = random_tensor({512, 16}, 1);
  const auto peak_of_step = [&](const Network& network) {
    CachingAllocator& memory = allocator(current_context().device);
    memory.reset_peak();
    const std::size_t before = memory.stats().bytes_in_use;
    {
      GradientTape tape;
      tape.watch(x);
      (void)tape.gradient(network(x, Mode::train), std::span(&x, 1));
    }
    EXPECT_EQ(memory.stats().bytes_in_use, before);
    return memory.stats().bytes_peak - before;
  };
  constexpr std::size_t hidden = 512 * 1024 * sizeof(float);
  EXPECT_GT(peak_of_step(of_wide_blocks(false)), 8 * hidden);
  EXPECT_LT(peak_of_step(of_wide_blocks(true)), 5 * hidden);
}

TEST(RematScope, KeepsNoInputsOfABlockWithoutATape) {
  const Symbol in = Input({16});
  const Symbol wide = Dense({.units = 1024})(in);
  const Symbol sum_of_rows = with_remat(true, [&] {
    return Dense({.units = 1024})(Dense({.units = 1})(wide));  // the second layer no longer needs `wide`
  });
  const Network network(in, Dense({.units = 1})(sum_of_rows), 3);
  CachingAllocator& memory = allocator(current_context().device);
  const Tensor x = random_tensor({512, 16}, 1);
  memory.reset_peak();
  const std::size_t before = memory.stats().bytes_in_use;
  (void)network(x, Mode::inference);
  EXPECT_LT(memory.stats().bytes_peak - before, 2 * 512 * 1024 * sizeof(float));
}

// The replica without a gradient through the block must not take part in a collective of its second run.
TEST(RematScope, NormalizesOnReplicasOfWhichOneNeedsNoGradient) {
  const auto outcome = [](bool remat) {
    const MirroredStrategy strategy = mirrored(2);
    const auto scope = strategy.scope();
    const Symbol in = Input({8});
    const Symbol y = with_remat(remat, [&] { return BatchNormalization()(Dense({.units = 4})(in)); });
    const Model model(in, y, {.seed = 5});
    const SGD optimizer({.learning_rate = 0.1});
    strategy.run([&] {  // without a distributed batch, replicas exchange their numbers of rows
      GradientTape tape;
      const Tensor result = model(random_tensor({this_replica() + 2, 8}, 1), Mode::train);
      const Variable beta = model.trainable_variables().back();
      const Tensor loss = this_replica() == 0 ? mean(square(beta.value())) : mean(square(result));
      optimizer.minimize(tape, loss, model.trainable_variables());
    });
    return weights_of(model);
  };
  EXPECT_EQ(outcome(true), outcome(false));
}

TEST(RematScope, OutlivesTheNetworkAndItsScope) {
  const Tensor x = random_tensor({3, 16}, 1);
  const auto gradient = [&](bool remat) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = with_device("CPU:1", [&] { return of_wide_blocks(remat)(x, Mode::train); });
    return tape.gradient(y, std::span(&x, 1)).front();
  };
  expect_same_bits(gradient(true), gradient(false));
}

TEST(RematScope, HasSecondOrderGradients) {
  const Tensor x = random_tensor({3, 8}, 1);
  const auto penalized = [&](bool remat) {
    const Symbol in = Input({8});
    const Symbol y = with_remat(
        remat, [&] { return Dropout({.rate = 0.4})(Dense({.units = 6, .activation = Activation::tanh})(in)); });
    const Network network(in, Dense({.units = 1})(y), 3);
    std::vector<Tensor> weights;
    for (const Variable& variable : network.trainable_variables()) weights.push_back(variable.value());
    GradientTape outer;
    Tensor penalty;
    {
      GradientTape inner;
      inner.watch(x);
      const Tensor gradient = inner.gradient(sum(network(x, Mode::train)), std::span(&x, 1)).front();
      penalty = sum(square(gradient));
    }
    std::vector<Tensor> gradients = outer.gradient(penalty, weights);
    gradients.pop_back();  // the last bias has none
    return gradients;
  };
  const std::vector<Tensor> expected = penalized(false);
  const std::vector<Tensor> found = penalized(true);
  for (std::size_t i = 0; i < expected.size(); ++i) expect_same_bits(found[i], expected[i]);
}

TEST(RematScope, KeepsTheStatesOfAStatefulLayer) {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const auto outputs = [&](bool remat) {
    const Symbol in = Input({3, 4}, "input", 2);
    const Network network(in, with_remat(remat, [&] { return LSTM({.units = 3, .stateful = true})(in); }), 3);
    std::vector<Tensor> results;
    for (int step = 0; step < 3; ++step) {
      GradientTape tape;
      tape.watch(x);
      results.push_back(network(x, Mode::train));
      results.push_back(tape.gradient(results.back(), std::span(&x, 1)).front());
    }
    return results;
  };
  const std::vector<Tensor> expected = outputs(false);
  const std::vector<Tensor> found = outputs(true);
  for (std::size_t i = 0; i < expected.size(); ++i) expect_same_bits(found[i], expected[i]);
}

TEST(RematScope, OfAWholeModelIsRecomputedAsOne) {
  const Symbol x = Input({16});
  const auto blocks_of = [](const Network& network) {
    std::multiset<int> sizes;
    std::map<std::uint64_t, int> calls;
    for (const GraphCall& call : network.calls()) ++calls[call.remat];
    for (const auto& [scope, count] : calls) sizes.insert(scope == 0 ? -count : count);
    return sizes;
  };
  const Symbol inner = Input({16});
  const Model part(inner, of_wide_blocks(true).connect({inner}, std::make_shared<NestedModel>()).front(),
                   {.name = "part"});
  EXPECT_EQ(blocks_of(part.network()), (std::multiset<int>{2, 2, 2, 2, 2, 2, 2, 2}));
  const Symbol twice =
      part(with_remat(true, [&] { return part(with_remat(true, [&] { return Dense({.units = 16})(x); })); }));
  EXPECT_EQ(blocks_of(Network(x, Dense({.units = 1})(twice), 1)), (std::multiset<int>{-1, 2, 2, 2, 2, 2, 2, 2, 2, 17}));
}

// A loop of one's own with recompute_grad around a model and ops that draw numbers.
TEST(RecomputeGradOfAModel, TrainsToTheSameBits) {
  const auto run = [&](bool recompute) {
    Model model = of_convolutions(false);
    const SGD optimizer({.learning_rate = 0.1});
    std::uint64_t draws = 0;
    const auto forward = [&](const Tensor& x, double rate) {
      const AddedLosses added;
      const Tensor y = model(
          dropout(x, static_cast<float>(rate), [&] { return RandomKey{.seed = 3, .step = draws++}; }), Mode::train);
      return mean(square(y));
    };
    std::vector<double> losses;
    for (int step = 0; step < 3; ++step) {
      GradientTape tape;
      const Tensor loss = recompute ? recompute_grad(forward)(pixels(), 0.1) : forward(pixels(), 0.1);
      losses.push_back(loss.item<float>());
      optimizer.minimize(tape, loss, model.trainable_variables());
    }
    EXPECT_EQ(draws, 3);
    return RematRun{losses, weights_of(model)};
  };
  EXPECT_EQ(run(true), run(false));
}

}  // namespace
}  // namespace lockstep::test
