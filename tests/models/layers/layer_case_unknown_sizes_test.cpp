// Tests of inputs of unknown sizes, for the rows of cases/layer_case.h: each row's layer is trained between Dense
// layers.

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <models/layers/cases/case_checks.h>
#include <support/expect_error.h>
#include <support/replicas.h>

#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/random_draws.h>
#include <lockstep/models/losses/regression.h>
#include <lockstep/models/optimizers/sgd.h>
#include <lockstep/models/training/model.h>

namespace lockstep::test {
namespace {

/// An input of any size along each axis that layers need not know.
Shape of_any_size(Shape shape, bool is_ids) {
  for (int axis = 0; axis < shape.rank() - (is_ids ? 0 : 1); ++axis) shape[axis] = -1;
  return shape;
}

/// Whether the row's weights, those of a Dense after it or the relation between its inputs depend on the sizes.
bool needs_sizes(std::string_view name) {
  constexpr std::string_view rows[] = {"PReLU",
                                       "Softmax with a mask",
                                       "Flatten",
                                       "Reshape",
                                       "Permute",
                                       "Dot",
                                       "Dot normalized",
                                       "MultiHeadAttention along rows",
                                       "GroupQueryAttention causal with mask and scores",
                                       "GroupQueryAttention with key and mask",
                                       "EinsumDense",
                                       "CategoryEncoding of weighted ids",
                                       "Normalization of two axes",
                                       "Normalization with statistics of two axes",
                                       "LayerNormalization of two axes",
                                       "GroupNormalization of axis 2",
                                       "RMSNormalization of two axes",
                                       "TimeDistributed model with LSTM"};
  return std::ranges::find(rows, name) != std::end(rows);
}

bool has_random_draws(LayerImpl& layer) {
  return layer.random_draws() != nullptr || std::ranges::any_of(layer.inner_layers(), [](const InnerLayer& inner) {
           return has_random_draws(*inner.layer);
         });
}

class LayerCaseUnknownSizes : public testing::TestWithParam<std::size_t> {
 protected:
  static constexpr std::int64_t rows = 5;  // over two replicas: 3 and 2

  Model model(bool is_known) const {
    std::vector<Symbol> inputs;
    std::vector<Symbol> given;
    for (std::size_t i = 0; i < row_.inputs.size(); ++i) {
      const Shape& shape = row_.inputs[i];
      const bool is_ids = row_.ids(i) > 0;
      inputs.push_back(Input(is_known ? shape : of_any_size(shape, is_ids), "x"));
      given.push_back(is_ids ? inputs.back() : Dense({.units = shape.dim(-1)})(inputs.back()));
    }
    const Symbol result =
        edited(row_.make()(given), [&](Symbol::Node& node) { node.use_causal_mask = row_.traits.causal; });
    return {inputs, Dense({.units = 2})(result), {.seed = 3}};
  }

  /// The loss of a batch, then the weights after a step on it.
  std::vector<Tensor> trained(Model model, const Shape& result) const {
    Tensors inputs;
    for (std::size_t i = 0; i < row_.inputs.size(); ++i) {
      const Shape shape = batched(rows, row_.inputs[i]);
      const Tensor input = row_.ids(i) > 0 ? some_ids(shape, row_.ids(i)) : numbers(shape, i);
      inputs.push_back(input.on_host());
    }
    model.compile(SGD({.learning_rate = 0.125}), MeanSquaredError());
    const double loss = model.train_on_batch({inputs, {numbers(batched(rows, result), 9).on_host()}}).at("loss");
    Tensors values{Tensor::full({}, loss)};
    for (const Variable& variable : model.network().variables()) values.push_back(variable.value());
    return values;
  }

  const LayerCase& row_ = layer_cases()[GetParam()];
};

TEST_P(LayerCaseUnknownSizes, TrainOverReplicasLikeKnownOnes) {
  const LayerCaseTraits& traits = row_.traits;
  if (traits.masked || traits.stateful || traits.mode == Mode::inference) return;
  if (traits.depends_on_batch && !traits.synchronized) return;
  if (row_.make().impl().traits().makes_masks && row_.ids(0) > 0) return;  // a mask of elements, which losses refuse
  const Model known = model(true);
  if (std::ranges::any_of(known.network().layers(), [](const Layer& layer) { return has_random_draws(layer.impl()); }))
    return;
  const std::vector<Tensor> expected = trained(known, known.network().output_shape());
  const MirroredStrategy strategy = mirrored(2);
  const auto scope = strategy.scope();
  if (needs_sizes(row_.name)) {
    EXPECT_THAT(error_of<InvalidArgument>([&] { model(false); }),
                testing::AnyOf(testing::HasSubstr("where -1 is any size: "),
                               testing::HasSubstr("depend on a size of its input that is unknown, -1")));
    return;
  }
  const std::vector<Tensor> found = trained(model(false), known.network().output_shape());
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(found[i], expected[i], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerCaseUnknownSizes, testing::Range<std::size_t>(0, layer_cases().size()), row_name);

}  // namespace
}  // namespace lockstep::test
