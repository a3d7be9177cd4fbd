// Tests that every layer must pass, for the rows of cases/layer_case.h. Each row is called in a network.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <models/layers/cases/case_checks.h>
#include <nlohmann/json.hpp>
#include <support/expect_error.h>
#include <support/gradient_check.h>
#include <support/replicas.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/layers/added_losses.h>
#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/keras_layers.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_registry.h>
#include <lockstep/models/layers/random_draws.h>
#include <lockstep/models/layers/recurrent_layer.h>

namespace lockstep::test {
namespace {

using Json = nlohmann::ordered_json;

bool draws(LayerImpl& layer) {
  return layer.random_draws() != nullptr ||
         std::ranges::any_of(layer.inner_layers(), [](const InnerLayer& inner) { return draws(*inner.layer); });
}

/// A layer and a network that consists of a call of it, and of an Embedding with mask_zero if the row is masked.
class Subject {
 public:
  Subject(const LayerCase& row, const Layer& layer, const Shapes& shapes)
      : row_(row), shapes_(shapes), layer_(layer), was_built_(layer.impl().is_built()), network_(make_network()) {
    if (!was_built_) change_values(network_.variables());
  }
  explicit Subject(const LayerCase& row) : Subject(row, row.make(), row.inputs) {}

  const Layer& handle() const { return layer_; }
  LayerImpl& layer() const { return layer_.impl(); }
  const Network& network() const { return network_; }

  Tensors inputs(std::int64_t rows = examples) const {
    Tensors inputs;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      const Shape shape = batched(rows, shapes_[i]);
      if (row_.traits.masked && i == 0)
        inputs.push_back(some_ids({rows, shape[1]}, ids_of_mask));
      else
        inputs.push_back(row_.ids(i) > 0 ? some_ids(shape, row_.ids(i)) : numbers(shape, i));
    }
    return inputs;
  }

  /// The floating-point inputs and the values of the trainable variables.
  Tensors sources(const Tensors& inputs) const {
    Tensors sources;
    std::ranges::copy_if(inputs, std::back_inserter(sources), [](const Tensor& x) { return is_real(x.dtype()); });
    for (const Variable& variable : network_.trainable_variables()) sources.push_back(variable.value());
    return sources;
  }

  Tensors run(const Tensors& inputs) const {
    repeat_draws(layer());
    if (is_stateful(layer()) && !current_context().in_replica()) reset_states(layer());
    return network_.run(inputs, row_.traits.mode);
  }

  /// The results, then the gradients of a weighted sum of them with respect to the sources. `first`: the number of the
  /// first example in the batch that the weights are for.
  Tensors results(const Tensors& inputs, std::int64_t first = 0) const {
    const Tensors sources = this->sources(inputs);
    GradientTape tape;
    for (const Tensor& source : sources) tape.watch(source);
    Tensors results = run(inputs);
    if (sources.empty()) return results;
    Tensor loss = Tensor::zeros({});
    for (const Tensor& y : results) {
      Shape whole = y.shape();
      whole[0] = std::max(examples, y.dim(0));
      const Tensor weights = random_tensor(whole, 4711, 0.5, 1.5).slice_view(0, first, first + y.dim(0));
      loss = add(loss, sum(multiply(cast(y, DType::f32), weights)));
    }
    for (Tensor& gradient : tape.gradient(loss, sources)) results.push_back(std::move(gradient));
    return results;
  }

  /// Expects results of the shapes that the layer announced.
  void expect_shapes(const Tensors& results, std::int64_t rows = examples) const {
    for (std::size_t i = 0; i < network_.outputs().size(); ++i)
      EXPECT_EQ(results[i].shape(),
                batched(rows, network_.calls()[static_cast<std::size_t>(network_.outputs()[i])].shape));
  }

 private:
  static constexpr std::int64_t ids_of_mask = 4;

  Network make_network() const {
    if (layer().name().empty()) layer().set_name("layer");
    std::vector<Symbol> inputs;
    std::vector<Symbol> given;
    for (const Shape& shape : shapes_) {
      const bool masked = row_.traits.masked && given.empty();
      inputs.push_back(Input(masked ? Shape{shape[0]} : shape, "x", row_.traits.stateful ? examples : 0));
      given.push_back(masked ? embedding(shape[1])(inputs.back()) : inputs.back());
    }
    const Symbol first = edited(layer_(given), [&](Symbol::Node& node) { node.use_causal_mask = row_.traits.causal; });
    const bool one_result = is_attention(row_.class_name()) && !row_.traits.scores;
    return {inputs, one_result ? std::vector{first} : results_of(first), 3};
  }

  static Layer embedding(std::int64_t features) {
    return Embedding({.input_dim = ids_of_mask, .output_dim = features, .mask_zero = true});
  }

  const LayerCase& row_;
  Shapes shapes_;
  Layer layer_;
  bool was_built_;
  Network network_;
};

/// The message of the InvalidArgument that `action` throws; empty if it throws nothing.
template <class Action>
std::string refusal_of(const Action& action) {
  try {
    action();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

/// Other inputs: without an axis or with another one, with another size of an axis, and of another number.
std::vector<Shapes> other_inputs(const Shapes& shapes) {
  std::vector<Shapes> all{{}, Shapes(shapes.begin(), shapes.end() - 1), shapes};
  all.back().push_back(shapes.back());
  const auto add = [&](std::size_t input, const Shape& shape) {
    all.push_back(shapes);
    all.back()[input] = shape;
  };
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Shape& shape = shapes[i];
    add(i, Shape(std::span(shape.begin() + 1, shape.end())));
    add(i, batched(2, shape));
    for (int axis = 0; axis < shape.rank(); ++axis) {
      Shape wider = shape;
      ++wider[axis];
      add(i, wider);
    }
  }
  return all;
}

/// Expects an error's message to be empty, or to name a layer by its name or class.
void expect_layer_named(const std::string& message) {
  if (message.empty()) return;
  std::vector<std::string_view> words{"layer '"};
  for (const LayerCase& row : layer_cases()) words.push_back(std::string_view(row.name).substr(0, row.name.find(' ')));
  EXPECT_TRUE(std::ranges::any_of(words, [&](std::string_view word) { return message.find(word) != message.npos; }))
      << message;
}

class LayerCases : public testing::TestWithParam<std::size_t> {
 protected:
  /// Expects that a call with these inputs is refused, or has results of the announced shapes, of which each example's
  /// depends on its own inputs only.
  void expect_results_or_refusal(const Layer& layer, const Shapes& shapes) const {
    expect_layer_named(refusal_of([&] {
      const Subject subject(row_, layer, shapes);
      const Tensors results = subject.results(subject.inputs());
      subject.expect_shapes(results);
      if (row_.traits.depends_on_batch || draws(layer.impl())) return;
      const Tensors first = subject.run(subject.inputs(1));
      for (std::size_t i = 0; i < first.size(); ++i) expect_near(first[i], results[i].slice_view(0, 0, 1), 1e-5);
    }));
  }

  const LayerCase& row_ = layer_cases()[GetParam()];
};

/// The elements of all results, one after another.
Tensor joined(const Tensors& results) {
  Tensors flat;
  for (const Tensor& y : results) flat.push_back(reshape(y, {y.elements()}));
  return concatenate(flat, 0);
}

/// Compares the gradient of function(inputs), which runs the subject, with differences at some elements of each source.
/// The references are the layers themselves, in f32. Their rounding errors are about 1e-7 / step.
void check_differences(const Subject& subject, const GradientCheck& check,
                       const std::function<Tensor(const Tensors& inputs)>& function) {
  const Tensors inputs = subject.inputs();
  const Tensors sources = subject.sources(inputs);
  if (sources.empty()) return;
  // Assigns the variables their values; returns the inputs.
  const auto assigned = [&](const std::vector<std::vector<double>>& values) {
    auto next = values.begin();
    const auto value = [&](const Shape& shape) {
      const std::vector<double>& own = *next++;
      return Tensor::from(std::vector<float>(own.begin(), own.end()), shape);
    };
    Tensors given;
    for (const Tensor& x : inputs) given.push_back(is_real(x.dtype()) ? value(x.shape()) : x);
    for (const Variable& variable : subject.network().trainable_variables()) variable.assign(value(variable.shape()));
    return given;
  };
  const auto reference = [&](const std::vector<std::vector<double>>& values) {
    return function(assigned(values)).to_vector<double>();
  };
  std::vector<std::vector<double>> values;
  for (const Tensor& source : sources) values.push_back(source.to_vector<double>());
  const auto op = [&](std::span<const Tensor>) {
    assigned(values);
    return function(inputs);
  };
  check_gradients(op, reference, sources, check);
}

TEST_P(LayerCases, HasTheGradientOfDifferences) {
  const Subject subject(row_);
  check_differences(subject, {.samples = 16, .step = 1.0 / 512, .error = 2e-3},
                    [&](const Tensors& inputs) { return joined(subject.run(inputs)); });
}

TEST_P(LayerCases, HasTheSecondGradientOfDifferences) {
  const Subject subject(row_);
  const Tensors inputs = subject.inputs();
  const Tensors directions = few_directions(subject.sources(inputs));
  const Tensor weights = random_tensor(joined(subject.run(inputs)).shape(), 4711, 0.5, 1.5);
  const auto run_on = [&](const Tensors& given) {
    return [&](std::span<const Tensor>) { return joined(subject.run(given)); };
  };
  const std::string& refusal = row_.traits.second_gradient_refusal;
  if (refusal.empty())
    return check_differences(subject, {.magnitude = 64, .samples = 6, .step = 1.0 / 1024, .error = 4e-3},
                             [&](const Tensors& given) {
                               return gradient_along(run_on(given), subject.sources(given), weights, directions);
                             });
  const auto refused = [&] { second_gradients(run_on(inputs), subject.sources(inputs), weights, directions); };
  EXPECT_THAT(error_of<Unsupported>(refused),
              testing::AllOf(testing::HasSubstr(refusal), testing::HasSubstr("is not differentiable itself"),
                             testing::Not(testing::HasSubstr("\n"))));
}

// As in Keras, ids may be floating-point numbers.
TEST_P(LayerCases, OfIdsHasNoGradientWithRespectToThem) {
  const Subject subject(row_);
  Tensors inputs = subject.inputs();
  const auto number = std::ranges::find_if(row_.traits.ids, [](std::int64_t count) { return count > 0; });
  if (number == row_.traits.ids.end()) return;
  const Tensors expected = subject.run(inputs);
  Tensor& ids = inputs[static_cast<std::size_t>(number - row_.traits.ids.begin())];
  ids = cast(ids, DType::f32);
  GradientTape tape;
  tape.watch(ids);
  const Tensors results = subject.run(inputs);
  expect_same(results, expected);
  const Tensor both = add(sum(results[0]), sum(multiply(ids, 2.0)));
  EXPECT_THAT(tape.gradient(both, std::span(&ids, 1)).front().to_vector<float>(), testing::Each(2));
}

TEST_P(LayerCases, InMixedBfloat16IsNearF32) {
  const Subject exact(row_);
  const DTypePolicyScope scope("mixed_bfloat16");
  const Subject mixed(row_);
  const Tensors inputs = exact.inputs();
  const Tensors expected = exact.results(inputs);
  const Tensors actual = mixed.results(inputs);
  ASSERT_EQ(actual.size(), expected.size());
  const std::size_t outputs = exact.network().outputs().size();
  for (std::size_t i = 0; i < actual.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(expected[i].dtype(), DType::f32);
    EXPECT_EQ(actual[i].dtype(), i < outputs ? DType::bf16 : DType::f32);
    expect_near(actual[i], expected[i], 4 * epsilon_of(DType::bf16));
    if (i < outputs && !mixed.layer().traits().can_compute_in_bf16)
      expect_same_bits(actual[i], cast(expected[i], DType::bf16));
  }
  for (std::size_t i = 0; i < exact.network().variables().size(); ++i) {
    const Variable variable = mixed.network().variables()[i];
    EXPECT_EQ(variable.dtype(), DType::f32) << variable.name();
    expect_near(variable.value(), exact.network().variables()[i].value(), 4 * epsilon_of(DType::bf16));
  }
}

TEST_P(LayerCases, OfNoExamplesHasGradientsOfZero) {
  if (row_.traits.stateful) return;
  const Subject subject(row_);
  const Tensors inputs = subject.inputs(0);
  const Tensors results = subject.results(inputs);
  subject.expect_shapes(results, 0);
  const Tensors sources = subject.sources(inputs);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Tensor& gradient = results[subject.network().outputs().size() + i];
    ASSERT_TRUE(gradient.defined()) << i;
    EXPECT_EQ(gradient.shape(), sources[i].shape());
    EXPECT_THAT(gradient.to_vector<float>(), testing::Each(0));
  }
}

TEST_P(LayerCases, OfStridedInputsGivesTheSameBits) {
  const Subject subject(row_);
  const Tensors inputs = subject.inputs();
  const Tensors expected = subject.results(inputs);
  Tensors slices;
  Tensors transposed;
  for (const Tensor& x : inputs) {
    slices.push_back(is_real(x.dtype()) ? strided_copy(x) : x);
    transposed.push_back(x.rank() < 2 ? x : moveaxis(dense_copy(moveaxis(x, 0, -1)), -1, 0));
  }
  expect_same(subject.results(slices), expected);
  expect_same(subject.results(transposed), expected);
}

TEST_P(LayerCases, RefusesOtherInputsOrComputesThem) {
  if (row_.traits.masked || row_.traits.stateful) return;
  const Subject subject(row_);
  const Tensors expected = subject.results(subject.inputs());
  for (const Shapes& shapes : other_inputs(row_.inputs)) {
    std::string text;
    for (const Shape& shape : shapes) text += shape.text() + " ";
    SCOPED_TRACE(text);
    if (shapes.empty()) {
      const std::string refusal = refusal_of([&] { row_.make()(std::vector<Symbol>()); });
      EXPECT_NE(refusal, "");
      expect_layer_named(refusal);
      continue;
    }
    expect_results_or_refusal(row_.make(), shapes);
    expect_results_or_refusal(subject.handle(), shapes);
  }
  expect_same(subject.results(subject.inputs()), expected);
}

TEST_P(LayerCases, RefusesOtherDtypesOrComputesThem) {
  const Subject subject(row_);
  const Tensors inputs = subject.inputs();
  const Tensors expected = subject.results(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (const DType dtype : {DType::f32, DType::i64, DType::boolean, DType::bf16}) {
      SCOPED_TRACE(name(dtype));
      Tensors others = inputs;
      others[i] = cast(inputs[i], dtype);
      expect_layer_named(refusal_of([&] { subject.expect_shapes(subject.run(others)); }));
    }
  expect_same(subject.results(inputs), expected);
}

TEST_P(LayerCases, RefusesUndefinedInputs) {
  const Subject subject(row_);
  const Tensors inputs = subject.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensors others = inputs;
    others[i] = Tensor();
    EXPECT_ERROR(InvalidArgument, "undefined", subject.run(others));
  }
}

Json config_of(const LayerImpl& layer) { return LayerConfig(layer, layer.name()).written(); }

// As in Keras, the penalty of each result is divided by the number of examples. ActivityRegularization has the factors
// among its own options. Attention of several heads penalizes the results of its projections (attention_test.cpp).
TEST_P(LayerCases, AddsThePenaltyOfItsActivityRegularizer) {
  if (!row_.traits.in_files || is_multi_head_attention(row_.class_name())) return;
  const Subject subject(row_);
  const Json config = config_of(subject.layer());
  const Json regularizer = config.value("activity_regularizer", Json());
  const Json factors = row_.class_name() == "ActivityRegularization" ? config
                       : regularizer.is_null()                       ? Json::object()
                                                                     : regularizer.at("config");
  const double l1 = factors.value("l1", 0.0);
  const double l2 = factors.value("l2", 0.0);
  const AddedLosses added;
  double expected = 0;
  for (const Tensor& result : subject.run(subject.inputs()))
    for (const double y : result.to_vector<double>()) expected += (l1 * std::abs(y) + l2 * y * y) / examples;
  const Tensor sum = added.sum();
  ASSERT_EQ(sum.defined(), l1 + l2 > 0);
  if (!sum.defined()) return;
  EXPECT_NEAR(sum.item<float>(), expected, 1e-5 * expected);
}

TEST_P(LayerCases, IsTheLayerOfItsConfig) {
  const Subject subject(row_);
  if (!row_.traits.in_files) {
    EXPECT_THAT(error_of<Unsupported>([&] { config_of(subject.layer()); }), testing::HasSubstr("'layer'"));
    return;
  }
  const Json config = config_of(subject.layer());
  LayerConfig source(subject.layer().class_name(), config, row_.inputs[0].rank() + 1);
  const Subject again(row_, layer_from_config(source), row_.inputs);
  EXPECT_EQ(config_of(again.layer()), config);
  expect_same(again.results(again.inputs()), subject.results(subject.inputs()));

  expect_same({again.layer().regularization_loss()}, {subject.layer().regularization_loss()});
}

TEST_P(LayerCases, OnTwoReplicasIsTheSame) {
  const Subject one(row_);
  if ((row_.traits.depends_on_batch && !row_.traits.synchronized) || draws(one.layer())) return;
  const Tensors inputs = one.inputs();
  const Tensors expected = one.results(inputs);
  const MirroredStrategy strategy = mirrored(2);
  const auto scope = strategy.scope();
  const Subject two(row_);
  std::array<Tensors, 2> parts;
  strategy.run([&] {
    const std::int64_t first = this_replica() == 0 ? 0 : 2;
    Tensors own;
    for (const Tensor& x : inputs) own.push_back(to_current_device(x.slice_view(0, first, first == 0 ? 2 : examples)));
    parts[static_cast<std::size_t>(this_replica())] = two.results(own, first);
  });
  const std::size_t by_example = expected.size() - two.network().trainable_variables().size();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(i);
    const Tensors both{to_current_device(parts[0][i]), to_current_device(parts[1][i])};
    expect_near(i < by_example ? concatenate(both, 0) : add(both[0], both[1]), expected[i], 1e-5);
  }
}

TEST(LayerCasesTable, HasARowForEachClass) {
  for (const LayerCase& row : layer_cases()) EXPECT_EQ(row.make().impl().class_name(), row.class_name());
  std::apply(
      [](const auto&... known) {
        for (const std::string_view name : {known.names[0]...})
          EXPECT_TRUE(
              std::ranges::any_of(layer_cases(), [&](const LayerCase& row) { return row.class_name() == name; }))
              << "no row for " << name;
      },
      std::tuple_cat(keras_layers, layers_of_applications));
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerCases, testing::Range<std::size_t>(0, layer_cases().size()), row_name);

}  // namespace
}  // namespace lockstep::test
