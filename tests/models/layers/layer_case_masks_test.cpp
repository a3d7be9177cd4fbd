// Tests of masks, for the rows of cases/layer_case.h. Each row's layer is called with masks of its inputs.

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <models/layers/cases/case_checks.h>
#include <support/expect_error.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/graph/plan_execution.h>
#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/recurrent_layer.h>
#include <lockstep/runtime/autograd/tape.h>

namespace lockstep::test {
namespace {

bool is_one_of(std::string_view name, const std::vector<std::string_view>& names) {
  return std::ranges::find(names, name) != names.end();
}

/// Whether the class has supports_masking in Keras; of Embedding, with mask_zero.
bool has_masks_in_keras(std::string_view name) {
  return is_recurrent(name) || is_attention(name) ||
         is_one_of(name, {"Activation",
                          "ActivityRegularization",
                          "Add",
                          "AlphaDropout",
                          "Average",
                          "Concatenate",
                          "Dot",
                          "Maximum",
                          "Minimum",
                          "Multiply",
                          "Subtract",
                          "BatchNormalization",
                          "GroupNormalization",
                          "LayerNormalization",
                          "UnitNormalization",
                          "Dense",
                          "Dropout",
                          "GaussianDropout",
                          "GaussianNoise",
                          "SpatialDropout1D",
                          "SpatialDropout2D",
                          "ELU",
                          "LeakyReLU",
                          "PReLU",
                          "ReLU",
                          "Softmax",
                          "Embedding",
                          "Masking",
                          "GlobalAveragePooling1D",
                          "Identity",
                          "Normalization",
                          "Rescaling",
                          "TimeDistributed"});
}

/// Which results do not depend on the masked steps of the inputs.
enum class Skips {
  nothing,     ///< masks have no effect on the results
  kept_steps,  ///< those of the steps that the mask of the result keeps; all if it has no mask
  all_steps    ///< all
};

Skips skips_of(const LayerCase& row) {
  const std::string name = row.class_name();
  // As in Keras 3, calls with initial states ignore masks.
  if (is_recurrent(name)) return row.inputs.size() == 1 ? Skips::all_steps : Skips::nothing;
  if (name == "TimeDistributed" && row.name.ends_with("LSTM")) return Skips::all_steps;
  if (name == "GlobalAveragePooling1D") return Skips::all_steps;
  if (name == "Softmax") return row.inputs.size() == 1 ? Skips::all_steps : Skips::nothing;  // its mask is an input
  if (is_attention(name) || is_one_of(name, {"Maximum", "Minimum", "Multiply"})) return Skips::kept_steps;
  const bool normalizes = name == "BatchNormalization" || row.name.ends_with("BatchNormalization");
  return normalizes && row.traits.mode == Mode::train ? Skips::kept_steps : Skips::nothing;
}

/// A mask of some steps. In all rows, each kept query may attend to a kept key, also with a sliding_window and in
/// causal calls: a query without any key may depend on all of them.
Tensor mask_of_steps(const Shape& shape) {
  std::vector<bool> steps;
  const std::int64_t last = shape.rank() > 1 ? shape.dim(-1) : 1;
  const std::int64_t of_example = shape.elements() / shape[0];
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::int64_t example = i / of_example;
    steps.push_back(shape.rank() > 1 ? (i % last) % (3 + example % 2) != 1 : example != 1);
  }
  const std::vector<float> values(steps.begin(), steps.end());
  return not_equal(Tensor::from(values, shape), 0);
}

/// The mask with axes of size 1 at its end, so that it broadcasts to this rank.
Tensor of_rank(const Tensor& mask, int rank) {
  Shape shape = mask.shape();
  while (shape.rank() < rank) shape.push_back(1);
  return reshape(mask, shape);
}

bool begins_with(const Shape& shape, const Shape& begin) {
  return shape.rank() >= begin.rank() && std::equal(begin.begin(), begin.end(), shape.begin());
}

void expect_all_near(const Tensors& actual, const Tensors& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_EQ(actual[i].defined(), expected[i].defined());
    if (actual[i].defined()) expect_near(actual[i], expected[i], 1e-6);
  }
}

void expect_same_mask(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.defined(), expected.defined());
  if (actual.defined()) expect_same_bits(actual, expected);
}

/// A row's layer, built, and inputs for it.
class LayerCaseMasks : public testing::TestWithParam<std::size_t> {
 protected:
  LayerCaseMasks() {
    layer_.impl().set_name("layer");
    layer_.impl().build(row_.inputs, {.seed = 3});
    change_values(layer_.impl().variables());
    for (std::size_t i = 0; i < row_.inputs.size(); ++i) {
      const Shape shape = batched(examples, row_.inputs[i]);
      inputs_.push_back(row_.ids(i) > 0 ? Tensor::full(shape, 1, DType::i64) : numbers(shape, i));
    }
  }

  const LayerTraits& traits() const { return layer_.impl().traits(); }
  bool takes_masks() const {
    return traits().supports_masking && !traits().makes_masks && row_.traits.mask_refusal.empty();
  }

  /// Two choices of masks: for the first input only, and for all inputs that can have one.
  std::array<Tensors, 2> masks() const {
    std::array<Tensors, 2> masks{Tensors(inputs_.size()), Tensors(inputs_.size())};
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Shape& shape = inputs_[i].shape();
      if (row_.ids(i) > 0 || shape.rank() != inputs_[0].rank()) continue;
      const int rank = row_.traits.mask_rank > 0 ? row_.traits.mask_rank : shape.rank() - 1;
      masks[1][i] = mask_of_steps(Shape(std::span(shape.begin(), static_cast<std::size_t>(rank))));
    }
    masks[0][0] = masks[1][0];
    return masks;
  }

  static Tensors ones_like(const Tensors& masks) {
    Tensors ones;
    for (const Tensor& mask : masks)
      ones.push_back(mask.defined() ? Tensor::full(mask.shape(), 1, DType::boolean) : mask);
    return ones;
  }

  Tensor mask_after(const Tensors& inputs, const Tensors& masks) const { return mask_of(layer_.impl(), inputs, masks); }

  /// Keras' compute_mask for a first result of this shape. For layers that take masks.
  Tensor expected_mask(const Shape& result, const Tensors& masks) const {
    const std::string name = row_.class_name();
    if (is_one_of(name, {"Dot", "GlobalAveragePooling1D"})) return {};
    if (is_recurrent(name)) return result.rank() == inputs_[0].rank() ? masks[0] : Tensor();
    if (name == "TimeDistributed" && result.rank() < inputs_[0].rank()) return any(masks[0], {2});
    const bool any_is_missing = std::ranges::any_of(masks, [](const Tensor& mask) { return !mask.defined(); });
    if (is_one_of(name, {"Add", "Average", "Maximum", "Minimum", "Multiply", "Subtract"}))
      return any_is_missing ? Tensor() : joined(masks);
    return name == "Concatenate" ? mask_of_concatenation(result, masks) : masks[0];
  }

  Tensors results(const Tensors& inputs, const Tensors& masks) {
    LayerImpl& layer = layer_.impl();
    repeat_draws(layer);
    if (is_stateful(layer)) reset_states(layer);
    Tensors more;
    LayerCall call{.mode = row_.traits.mode, .use_causal_mask = row_.traits.causal, .masks = masks};
    if (!is_attention(row_.class_name()) || row_.traits.scores) call.more_results = &more;
    Tensors results{layer.call(inputs, call)};
    results.insert(results.end(), more.begin(), more.end());
    return results;
  }

  /// The results, 0 where `kept` is defined and false, then the gradients of a weighted sum of them with respect to the
  /// floating-point inputs and to the weights.
  Tensors with_gradients(const Tensors& inputs, const Tensors& masks, const Tensor& kept = {}) {
    Tensors sources;
    std::ranges::copy_if(inputs, std::back_inserter(sources), [](const Tensor& x) { return is_real(x.dtype()); });
    for (const Variable& variable : layer_.impl().variables())
      if (variable.trainable()) sources.push_back(variable.value());
    GradientTape tape;
    for (const Tensor& source : sources) tape.watch(source);
    Tensors all = results(inputs, masks);
    Tensor loss = Tensor::zeros({});
    for (Tensor& y : all) {
      if (kept.defined() && begins_with(y.shape(), kept.shape())) y = where(of_rank(kept, y.rank()), y, 0);
      loss = add(loss, sum(multiply(y, random_tensor(y.shape(), 4711, 0.5, 1.5))));
    }
    for (const Tensor& gradient : tape.gradient(loss, sources)) all.push_back(gradient);
    return all;
  }

  const LayerCase& row_ = layer_cases()[GetParam()];
  Layer layer_ = row_.make();
  Tensors inputs_{};

 private:
  static Tensor joined(const Tensors& masks) {
    Tensor mask = masks[0];
    for (const Tensor& other : masks) mask = logical_or(mask, other);
    return mask;
  }

  /// An input without a mask counts as one whose steps are all kept.
  Tensor mask_of_concatenation(const Shape& result, const Tensors& masks) const {
    Tensors whole = masks;
    int joined_axis = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const Shape& shape = inputs_[i].shape();
      const Shape steps(std::span(shape.begin(), shape.end() - 1));
      if (!whole[i].defined()) whole[i] = Tensor::full(steps, 1, DType::boolean);
      for (int axis = 1; axis < shape.rank(); ++axis)
        if (shape[axis] != result[axis]) joined_axis = axis;
    }
    return joined_axis == result.rank() - 1 ? joined(whole) : concatenate(whole, joined_axis);
  }
};

TEST_P(LayerCaseMasks, AreSupportedAsInKeras) {
  const bool is_expected = has_masks_in_keras(row_.class_name());
  if (row_.class_name() == "Embedding")
    EXPECT_EQ(traits().supports_masking, traits().makes_masks);
  else
    EXPECT_EQ(traits().supports_masking, is_expected);
}

TEST_P(LayerCaseMasks, AreHandedOnAsInKeras) {
  if (!takes_masks()) return;
  const Shape result = results(inputs_, {}).front().shape();
  for (const Tensors& given : masks()) {
    expect_same_mask(mask_after(inputs_, given), expected_mask(result, given));
    const Tensors ones = ones_like(given);
    expect_same_mask(mask_after(inputs_, ones), expected_mask(result, ones));
  }
  EXPECT_FALSE(mask_after(inputs_, Tensors(inputs_.size())).defined());
}

TEST_P(LayerCaseMasks, OfOnesChangeNothing) {
  if (!takes_masks()) return;
  const Tensors expected = with_gradients(inputs_, {});
  for (const Tensors& given : masks()) expect_all_near(with_gradients(inputs_, ones_like(given)), expected);
}

TEST_P(LayerCaseMasks, HaveNoEffectOrHideMaskedSteps) {
  if (!takes_masks()) return;
  const Skips skips = skips_of(row_);
  const Tensors without = with_gradients(inputs_, {});
  for (const Tensors& given : masks()) {
    if (skips == Skips::nothing) {
      expect_same(with_gradients(inputs_, given), without);
      continue;
    }
    const Tensor kept = skips == Skips::kept_steps ? mask_after(inputs_, given) : Tensor();
    const Tensors expected = with_gradients(inputs_, given, kept);
    Tensors others = inputs_;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (given[i].defined()) others[i] = where(of_rank(given[i], inputs_[i].rank()), inputs_[i], 2 - 3 * inputs_[i]);
    expect_all_near(with_gradients(others, given, kept), expected);
    std::size_t gradient = results(inputs_, given).size();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!is_real(inputs_[i].dtype())) continue;
      const Tensor& of_input = expected[gradient++];
      if (!given[i].defined() || !of_input.defined()) continue;
      const Tensor of_masked = where(of_rank(given[i], of_input.rank()), 0, of_input);
      EXPECT_THAT(of_masked.to_vector<float>(), testing::Each(0)) << "gradient of input " << i;
    }
    bool differs = false;
    const Tensors masked = results(inputs_, given);
    for (std::size_t i = 0; i < masked.size(); ++i)
      differs = differs || masked[i].to_vector<float>() != without[i].to_vector<float>();
    EXPECT_TRUE(differs) << "the mask has no effect";
  }
}

TEST_P(LayerCaseMasks, AreMadeWhateverTheInputsHave) {
  if (!traits().makes_masks) return;
  // Masking hides the first step of each example, whose numbers are its mask_value; Embedding, ids of 0.
  const Shape& shape = inputs_[0].shape();
  const Tensor kept = mask_of_steps({shape[0], shape[1]});
  const bool of_ids = row_.ids(0) > 0;
  const Tensor hidden = Tensor::full({}, of_ids ? 0 : -1, inputs_[0].dtype());
  inputs_[0] = where(of_rank(kept, shape.rank()), inputs_[0], hidden);
  const Tensor expected = of_ids ? broadcast_to(of_rank(kept, shape.rank()), shape) : kept;
  expect_same_mask(mask_after(inputs_, {Tensor()}), expected);
  expect_same_mask(mask_after(inputs_, {logical_not(kept)}), expected);
  const Tensors results = with_gradients(inputs_, {});
  expect_same(with_gradients(inputs_, {logical_not(kept)}), results);
  if (of_ids) return;
  for (const Tensor& of_steps : {results[0], results[1]}) {
    const Tensor of_masked = where(of_rank(kept, of_steps.rank()), 0, of_steps);
    EXPECT_THAT(of_masked.to_vector<float>(), testing::Each(0));
  }
  expect_same_bits(where(of_rank(kept, shape.rank()), results[0], hidden), inputs_[0]);
}

TEST_P(LayerCaseMasks, AreRefusedInOneLine) {
  if (row_.traits.mask_refusal.empty()) return;
  for (const Tensors& given : masks()) {
    const std::string message = error_of<Error>([&] { results(inputs_, given); });
    EXPECT_THAT(message, testing::HasSubstr(row_.traits.mask_refusal));
    EXPECT_THAT(message, testing::Not(testing::HasSubstr("\n")));
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerCaseMasks, testing::Range<std::size_t>(0, layer_cases().size()), row_name);

}  // namespace
}  // namespace lockstep::test
