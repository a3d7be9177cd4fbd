#include "lockstep/models/layers/attention.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/array/triangle.h>
#include <lockstep/kernels/attention/attention.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/models/layers/attention_axes.h>
#include <lockstep/models/layers/attention_weights.h>
#include <lockstep/models/layers/kernel_options.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>
#include <lockstep/models/layers/random_draws.h>

namespace lockstep {
namespace {

template <class Options>
void list_weights(LayerConfig& config, Options& options) {
  config.option("dropout", options.dropout);
  config.option("use_bias", options.use_bias);
  config.option("use_gate", options.use_gate);
  config.option("sliding_window", options.sliding_window);
  list_kernel_and_bias(config, options);
  for (const char* key : {"seed", "flash_attention"}) config.passed_over(key);
}

/// The numbers and sizes of heads, in which the two layers differ.
struct HeadSizes {
  std::int64_t query_heads, key_heads, size, value_size;
  std::optional<Shape> output_shape{};
};

HeadSizes sizes_of(const MultiHeadAttentionOptions& options) {
  return {options.num_heads, options.num_heads, options.key_dim, options.value_dim.value_or(options.key_dim),
          options.output_shape};
}
HeadSizes sizes_of(const GroupQueryAttentionOptions& options) {
  return {options.num_query_heads, options.num_key_value_heads, options.head_dim, options.head_dim};
}

Shape joined(Shape shape, const Shape& further) {
  for (const std::int64_t size : further) shape.push_back(size);
  return shape;
}

/// The inputs are query, value and, if given, key and mask.
template <class Options>
class AttentionImpl final : public LayerOf<Options> {
  using Base = LayerOf<Options>;

 public:
  /// `hidden`: the prefix of the inner layers' names in Keras.
  AttentionImpl(const char* class_name, std::string hidden, const Options& options)
      : Base(class_name, options, {.can_compute_in_bf16 = true, .can_be_captured = true, .supports_masking = true}),
        hidden_(std::move(hidden)),
        sizes_(sizes_of(options)) {
    for (const std::int64_t size : {sizes_.query_heads, sizes_.key_heads, sizes_.size, sizes_.value_size})
      require(size >= 1, "{} needs at least 1 head, and head sizes of at least 1, got {}", class_name, size);
    require(sizes_.query_heads % sizes_.key_heads == 0,
            "{} needs num_query_heads to be a multiple of num_key_value_heads, got {} and {}", class_name,
            sizes_.query_heads, sizes_.key_heads);
    require(options.dropout >= 0 && options.dropout < 1, "{} needs a dropout of at least 0 and below 1, got {}",
            class_name, options.dropout);
    require(options.sliding_window.value_or(1) >= 1, "{} needs a sliding_window of at least 1, got {}", class_name,
            options.sliding_window.value_or(1));
    if (const std::optional<Shape>& result = sizes_.output_shape)
      require(result->rank() >= 1 && std::ranges::all_of(*result, [](std::int64_t size) { return size >= 1; }),
              "{} needs an output_shape of sizes of at least 1, got {}", class_name, *result);
  }

  /// See check_causal_call. `rank`: that of the query, without the batch axis.
  void check_causal(int rank) const {
    const std::size_t axes = axes_of(rank).attended().size();
    require(axes == 1, "{} with use_causal_mask needs one attention axis, got {}", class_name_, axes);
  }

  std::vector<WeightsPart> weights_parts() const override {
    const std::size_t count = options_.use_bias ? 2 : 1;
    std::vector<WeightsPart> parts{{.group = hidden_ + "query_dense/vars", .name = "query", .count = count},
                                   {.group = hidden_ + "key_dense/vars", .name = "key", .count = count}};
    if (options_.use_gate) parts.push_back({.group = "_gate_dense/vars", .name = "gate", .count = count});
    parts.push_back({.group = hidden_ + "value_dense/vars", .name = "value", .count = count});
    parts.push_back({.group = hidden_ + "output_dense/vars", .name = "attention_output", .count = count});
    parts.push_back({.group = "_softmax/vars", .name = "softmax", .count = 0});
    parts.push_back({.group = "_dropout_layer/vars", .name = "dropout", .count = 0});
    return parts;
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    check_inputs(inputs);
    const Shape& query = inputs[0];
    return joined(Shape(std::span(query.begin(), query.end() - 1)), result_of(query));
  }

  std::vector<Shape> more_output_shapes(std::span<const Shape> inputs) const override {
    check_inputs(inputs);
    return {axes_of(inputs[0].rank()).scores(sizes_.query_heads, inputs[0], key_of(inputs))};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const AttentionAxes axes = axes_of(inputs[0].rank() - 1);
    const Tensor x = axes.sequences(inputs[0]);
    const auto heads_of = [&](const Tensor& sequences, const Projection& p, std::int64_t heads, std::int64_t size) {
      return reshape(penalized_by_example(call, inputs[0].dim(0), product(sequences, p, p.features(), heads * size)),
                     {sequences.dim(0), sequences.dim(1), heads, size});
    };
    const Tensor query = heads_of(x, query_, sizes_.query_heads, sizes_.size);
    const Tensor key = heads_of(axes.sequences(key_of(inputs)), key_, sizes_.key_heads, sizes_.size);
    const Tensor value = heads_of(axes.sequences(inputs[1]), value_, sizes_.key_heads, sizes_.value_size);
    Tensor heads = attended(query, key, value, axes, inputs, call);
    if (options_.use_gate) heads = heads * heads_of(x, gate_, sizes_.query_heads, sizes_.value_size);
    const std::int64_t features = sizes_.query_heads * sizes_.value_size;
    const Tensor y = product(reshape(heads, {x.dim(0), x.dim(1), features}), output_, features, result_.elements());
    penalized_by_example(call, inputs[0].dim(0), y);
    const Tensor result = axes.restored(reshape(y, joined({x.dim(0), x.dim(1)}, result_)), inputs[0].shape());
    // In Keras, its base class sees the option of this class too.
    if (std::is_same_v<Options, GroupQueryAttentionOptions>) penalized(call, options_.activity_regularizer, result);
    return result;
  }

  RandomDraws* random_draws() override { return options_.dropout > 0 ? &draws_ : nullptr; }

 private:
  struct Projection {
    Variable kernel;
    Variable bias{};
    Activation activation = Activation::linear;

    std::int64_t features() const { return kernel.shape()[0]; }
  };

  /// The key, which is the value by default.
  template <class Input>
  static const Input& key_of(std::span<const Input> inputs) {
    return inputs[inputs.size() > 2 ? 2 : 1];
  }

  /// How the axes of inputs of this rank (without the batch axis) take part.
  AttentionAxes axes_of(int rank) const {
    if constexpr (requires { options_.attention_axes; })
      return {class_name_, options_.attention_axes, rank + 1};
    else
      return {class_name_, {}, rank + 1};
  }

  /// Throws InvalidArgument for inputs that the layer cannot take or was not built for.
  void check_inputs(std::span<const Shape> inputs) const {
    require(inputs.size() >= 2 && inputs.size() <= 4,
            "{} is called with a query, a value, and perhaps a key and a mask, got {} inputs", class_name_,
            inputs.size());
    const Shape& query = inputs[0];
    const Shape& value = inputs[1];
    const Shape& key = key_of(inputs);
    constexpr bool any_rank = std::is_same_v<Options, MultiHeadAttentionOptions>;
    require(query.rank() >= 2 && (any_rank || query.rank() == 2) && value.rank() == query.rank() &&
                key.rank() == query.rank(),
            "{} takes {}, got query {}, value {}, key {}", class_name_,
            any_rank ? "inputs (time, ..., features) of one number of axes" : "sequences (time, features)", query,
            value, key);
    const AttentionAxes axes = axes_of(query.rank());
    bool fit = true;
    for (int axis = 0; axis < query.rank() - 1; ++axis) fit = fit && value[axis] == key[axis];
    require(fit, "{} needs a key for each value, got value {} and key {}", class_name_, value, key);
    for (const int axis : axes.others())
      require(query[axis - 1] == key[axis - 1],
              "{} needs query and key of the same sizes along the axes outside attention_axes, got {} and {}",
              class_name_, query, key);
    require(!options_.sliding_window || axes.attended().size() == 1,
            "{} with a sliding_window needs one attention axis, got {}", class_name_, axes.attended().size());
    const std::size_t axes_of_scores = axes.others().size() + 2 * axes.attended().size() + 2;
    require(axes_of_scores <= std::size_t{Shape::max_rank},
            "{} takes at most {} axes of scores: batch, other axes, heads, attention axes of the query and of the key; "
            "got {} for query {}",
            class_name_, Shape::max_rank, axes_of_scores, query);
    const Shape scores = axes.scores(sizes_.query_heads, query, key);
    if (inputs.size() > 3)
      require(axes.fits(inputs[3], scores),
              "{}: a mask {} does not fit scores {} (other axes, heads, attention axes of the query and of the key)",
              class_name_, inputs[3], scores);
    check_built_for(query, key, value);
  }

  void check_built_for(const Shape& query, const Shape& key, const Shape& value) const {
    if (!this->is_built()) return;
    require(query.dim(-1) == query_.features() && key.dim(-1) == key_.features() && value.dim(-1) == value_.features(),
            "{} '{}' was built for {}, {} and {} features of query, key and value, got {}, {} and {}", class_name_,
            this->name(), query_.features(), key_.features(), value_.features(), query, key, value);
    require(query.rank() == rank_, "{} '{}' was built for a query of {} axes, without the batch axis, got {}",
            class_name_, this->name(), rank_, query);
  }

  /// The last axes of the result for a query (time, features).
  Shape result_of(const Shape& query) const { return sizes_.output_shape.value_or(Shape{query.dim(-1)}); }

  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    query_ = projection("query", {inputs[0].dim(-1)}, {sizes_.query_heads, sizes_.size}, seed, 0);
    key_ = projection("key", {key_of(inputs).dim(-1)}, {sizes_.key_heads, sizes_.size}, seed, 2);
    if (options_.use_gate) {
      gate_ = projection("gate", {inputs[0].dim(-1)}, {sizes_.query_heads, sizes_.value_size}, seed, 9);
      gate_.activation = Activation::sigmoid;
    }
    value_ = projection("value", {inputs[1].dim(-1)}, {sizes_.key_heads, sizes_.value_size}, seed, 4);
    result_ = result_of(inputs[0]);
    rank_ = inputs[0].rank();
    if constexpr (requires { options_.attention_axes; }) options_.attention_axes = axes_of(inputs[0].rank()).attended();
    output_ = projection("attention_output", {sizes_.query_heads, sizes_.value_size}, result_, seed, 6);
    draws_.start(seed.key(8));
  }

  Projection projection(const std::string& name, const Shape& from, const Shape& to, const LayerSeed& seed,
                        std::uint32_t number) {
    return {.kernel = this->add_kernel(joined(from, to), seed.key(number), name + "/kernel"),
            .bias = this->add_bias(to, seed.key(number + 1), name + "/bias")};
  }

  /// x (n, ..., features) times the kernel as a matrix (features, units).
  static Tensor product(const Tensor& x, const Projection& p, std::int64_t features, std::int64_t units) {
    const Tensor bias = p.bias.defined() ? reshape(p.bias.value(), {units}) : Tensor();
    return dense(x, reshape(p.kernel.value(), {features, units}), bias, p.activation);
  }

  /// `y`, the result of a projection. Adds its penalty, for this number of examples, to the model's loss.
  Tensor penalized_by_example(const LayerCall& call, std::int64_t examples, const Tensor& y) const {
    penalized(call, options_.activity_regularizer, examples > 0 ? reshape(y, {examples, -1}) : y);
    return y;
  }

  /// The values that the queries attend to (n, queries, heads, size), of sequences.
  Tensor attended(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionAxes& axes,
                  std::span<const Tensor> inputs, const LayerCall& call) {
    const Shape scores = with_batch_axis(axes.scores(sizes_.query_heads, without_batch_axis(inputs[0].shape()),
                                                     without_batch_axis(key_of(inputs).shape())),
                                         inputs[0].dim(0));
    if (call.use_causal_mask) check_causal(inputs[0].rank() - 1);
    AttentionOptions options{.is_causal = call.use_causal_mask, .mask = mask_of(axes, scores, inputs, call)};
    if (call.mode == Mode::train) {
      options.dropout_rate = static_cast<float>(options_.dropout);
      options.next_key = [this] { return draws_.next(); };
    }
    if (call.more_results == nullptr) {
      const Tensor values = dot_product_attention(query, key, value, options);
      // Such calls are in Keras composed of ops that give a query without any key weights of 0, not equal ones.
      const bool is_composed_in_keras = options_.dropout > 0 || inputs[0].rank() != 3;
      if (!is_composed_in_keras || !options.mask.defined()) return values;
      return where(swapaxes(sees_any_key(options.mask, options.is_causal, query.dim(1)), 1, 2), values, 0);
    }
    const AttendedValues result = attention_with_weights(query, key, value, options);
    *call.more_results = {reshape(result.weights, scores)};
    if (std::is_same_v<Options, GroupQueryAttentionOptions>)
      penalized(call, options_.activity_regularizer, result.weights);
    return result.values;
  }

  /// The mask of the scores of sequences: true where the call's mask, the masks of query, value and key, and that of
  /// the sliding window are all true. Undefined if there are none.
  Tensor mask_of(const AttentionAxes& axes, const Shape& scores, std::span<const Tensor> inputs,
                 const LayerCall& call) const {
    Tensor result;
    const auto add = [&](const Tensor& mask) {
      const Tensor whole = axes.with_all_axes(mask);
      result = result.defined() ? logical_and(result, whole) : whole;
    };
    if (inputs.size() > 3) add(inputs[3].dtype() == DType::boolean ? inputs[3] : cast(inputs[3], DType::boolean));
    for (std::size_t i = 0; i < 3; ++i) {
      const Tensor mask = call.mask(i);
      if (!mask.defined()) continue;
      require(axes.attended().size() == 1 && mask.rank() == axes.attended()[0] + 1,
              "{} '{}' takes masks of inputs whose last axis is the only attention axis, got a mask {} for "
              "attention_axes ({})",
              class_name_, this->name(), mask.shape(), fmt::join(axes.attended(), ", "));
      add(expand_dims(mask, i == 0 ? -1 : -2));
    }
    if (const std::optional<int> window = options_.sliding_window)
      add(triu(tril(Tensor::full({1, scores.dim(-2), scores.dim(-1)}, 1, DType::boolean), *window - 1), 1 - *window));
    return result.defined() ? axes.of_sequences(result, scores) : result;
  }

  using Base::class_name_;
  using Base::options_;

  std::string hidden_;
  HeadSizes sizes_;
  Shape result_;  ///< last axes of the result
  int rank_ = 0;  ///< of the inputs that the layer was built for, without the batch axis
  Projection query_, key_, gate_, value_, output_;
  RandomDraws draws_;
};

}  // namespace

void MultiHeadAttentionOptions::describe(LayerConfig& config) {
  config.option("num_heads", num_heads);
  config.option("key_dim", key_dim);
  std::int64_t own_value_dim = value_dim.value_or(key_dim);
  config.option("value_dim", own_value_dim);
  value_dim = own_value_dim;
  config.option("output_shape", output_shape);
  config.axes("attention_axes", attention_axes);
  list_weights(config, *this);
}

void GroupQueryAttentionOptions::describe(LayerConfig& config) {
  config.option("head_dim", head_dim);
  config.option("num_query_heads", num_query_heads);
  config.option("num_key_value_heads", num_key_value_heads);
  list_weights(config, *this);
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options)
    : AttentionLayer(std::make_shared<AttentionImpl<MultiHeadAttentionOptions>>("MultiHeadAttention", "", options)) {}

GroupQueryAttention::GroupQueryAttention(const GroupQueryAttentionOptions& options)
    : AttentionLayer(std::make_shared<AttentionImpl<GroupQueryAttentionOptions>>("GroupQueryAttention", "_", options)) {
}

void check_causal_call(const LayerImpl& layer, const Shape& query) {
  if (const auto* const attention = dynamic_cast<const AttentionImpl<MultiHeadAttentionOptions>*>(&layer))
    attention->check_causal(query.rank());
}

bool is_multi_head_attention(std::string_view class_name) {
  return class_name == "MultiHeadAttention" || class_name == "GroupQueryAttention";
}

bool is_attention(std::string_view class_name) {
  return is_multi_head_attention(class_name) || class_name == "Attention" || class_name == "AdditiveAttention";
}

}  // namespace lockstep
