#include "lockstep/models/layers/attention.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/attention/attention.h>
#include <lockstep/kernels/matmul/dense.h>
#include <lockstep/models/layers/kernel_options.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/random_draws.h>

namespace lockstep {
namespace {

template <class Options>
void list_weights(LayerConfig& config, Options& options) {
  config.option("dropout", options.dropout);
  config.option("use_bias", options.use_bias);
  config.fixed("use_gate", false);
  config.fixed_null("sliding_window");
  list_kernel_and_bias(config, options);
  for (const char* key : {"seed", "flash_attention"}) config.passed_over(key);
}

void list(LayerConfig& config, MultiHeadAttentionOptions& options) {
  config.option("num_heads", options.num_heads);
  config.option("key_dim", options.key_dim);
  std::int64_t value_dim = options.value_dim.value_or(options.key_dim);
  config.option("value_dim", value_dim);
  options.value_dim = value_dim;
  config.option("output_shape", options.output_shape);
  config.time_axis("attention_axes");
  list_weights(config, options);
}

void list(LayerConfig& config, GroupQueryAttentionOptions& options) {
  config.option("head_dim", options.head_dim);
  config.option("num_query_heads", options.num_query_heads);
  config.option("num_key_value_heads", options.num_key_value_heads);
  list_weights(config, options);
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

/// Whether a mask without its batch axis broadcasts to the scores of heads.
bool fits(const Shape& mask, const Shape& scores) {
  if (mask.rank() != 2 && mask.rank() != 3) return false;
  for (int axis = 1; axis <= mask.rank(); ++axis)
    if (mask.dim(-axis) != 1 && mask.dim(-axis) != scores.dim(-axis)) return false;
  return true;
}

/// The inputs are query, value and, if given, key and mask.
template <class Options>
class AttentionImpl final : public LayerImpl {
 public:
  /// `hidden`: the prefix of the inner layers' names in Keras.
  AttentionImpl(const char* class_name, std::string hidden, const Options& options)
      : LayerImpl(options.name, {.can_compute_in_bf16 = true, .can_be_captured = true, .supports_masking = true}),
        class_name_(class_name),
        hidden_(std::move(hidden)),
        options_(options),
        sizes_(sizes_of(options)) {
    for (const std::int64_t size : {sizes_.query_heads, sizes_.key_heads, sizes_.size, sizes_.value_size})
      require(size >= 1, "{} needs at least 1 head, and head sizes of at least 1, got {}", class_name, size);
    require(sizes_.query_heads % sizes_.key_heads == 0,
            "{} needs num_query_heads to be a multiple of num_key_value_heads, got {} and {}", class_name,
            sizes_.query_heads, sizes_.key_heads);
    require(options.dropout >= 0 && options.dropout < 1, "{} needs a dropout of at least 0 and below 1, got {}",
            class_name, options.dropout);
    if (const std::optional<Shape>& result = sizes_.output_shape)
      require(result->rank() >= 1 && std::ranges::all_of(*result, [](std::int64_t size) { return size >= 1; }),
              "{} needs an output_shape of sizes of at least 1, got {}", class_name, *result);
  }

  std::string_view class_name() const override { return class_name_; }

  std::vector<WeightsPart> weights_parts() const override {
    const std::size_t count = options_.use_bias ? 2 : 1;
    return {{.group = hidden_ + "query_dense/vars", .name = "query", .count = count},
            {.group = hidden_ + "key_dense/vars", .name = "key", .count = count},
            {.group = hidden_ + "value_dense/vars", .name = "value", .count = count},
            {.group = hidden_ + "output_dense/vars", .name = "attention_output", .count = count},
            {.group = "_softmax/vars", .name = "softmax", .count = 0},
            {.group = "_dropout_layer/vars", .name = "dropout", .count = 0}};
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    require(inputs.size() >= 2 && inputs.size() <= 4,
            "{} is called with a query, a value, and perhaps a key and a mask, got {} inputs", class_name_,
            inputs.size());
    const Shape& query = inputs[0];
    const Shape& value = inputs[1];
    const Shape& key = inputs.size() > 2 ? inputs[2] : value;
    require(query.rank() == 2 && value.rank() == 2 && key.rank() == 2,
            "{} takes sequences (time, features), got query {}, value {}, key {}", class_name_, query, value, key);
    require(value[0] == key[0], "{} needs a key for each value, got value {} and key {}", class_name_, value, key);
    const Shape scores{sizes_.query_heads, query[0], key[0]};
    if (inputs.size() > 3)
      require(fits(inputs[3], scores), "{}: a mask {} does not fit scores (heads, queries, keys) {}", class_name_,
              inputs[3], scores);
    if (is_built())
      require(query[1] == query_.features() && key[1] == key_.features() && value[1] == value_.features(),
              "{} '{}' was built for {}, {} and {} features of query, key and value, got {}, {} and {}", class_name_,
              name(), query_.features(), key_.features(), value_.features(), query, key, value);
    return joined({query[0]}, result_of(query));
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const Tensor query = heads_of(inputs[0], query_, sizes_.query_heads, sizes_.size);
    const Tensor key = heads_of(inputs[inputs.size() > 2 ? 2 : 1], key_, sizes_.key_heads, sizes_.size);
    const Tensor value = heads_of(inputs[1], value_, sizes_.key_heads, sizes_.value_size);
    AttentionOptions options{.is_causal = call.use_causal_mask, .mask = mask_of(inputs, call)};
    if (call.mode == Mode::train) {
      options.dropout_rate = static_cast<float>(options_.dropout);
      options.next_key = [this] { return draws_.next(); };
    }
    const Tensor heads = scaled_dot_product_attention(query, key, value, options);
    const std::int64_t features = sizes_.query_heads * sizes_.value_size;
    const Shape result = joined({query.dim(0), query.dim(1)}, result_);
    return reshape(
        product(reshape(heads, {query.dim(0), query.dim(1), features}), output_, features, result_.elements()), result);
  }

  void describe(LayerConfig& config) const override { write_options(config, list, options_); }

  RandomDraws* random_draws() override { return options_.dropout > 0 ? &draws_ : nullptr; }

 private:
  struct Projection {
    Variable kernel;
    Variable bias{};

    std::int64_t features() const { return kernel.shape()[0]; }
  };

  /// The last axes of the result for a query (time, features).
  Shape result_of(const Shape& query) const { return sizes_.output_shape.value_or(Shape{query[1]}); }

  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    const std::int64_t key_features = inputs[inputs.size() > 2 ? 2 : 1][1];
    query_ = projection("query", {inputs[0][1]}, {sizes_.query_heads, sizes_.size}, seed, 0);
    key_ = projection("key", {key_features}, {sizes_.key_heads, sizes_.size}, seed, 2);
    value_ = projection("value", {inputs[1][1]}, {sizes_.key_heads, sizes_.value_size}, seed, 4);
    result_ = result_of(inputs[0]);
    output_ = projection("attention_output", {sizes_.query_heads, sizes_.value_size}, result_, seed, 6);
    draws_.start(seed.key(8));
  }

  Projection projection(const std::string& name, const Shape& from, const Shape& to, const LayerSeed& seed,
                        std::uint32_t number) {
    Projection made{.kernel = add_weight({.name = name + "/kernel",
                                          .shape = joined(from, to),
                                          .initializer = options_.kernel_initializer(seed.key(number))},
                                         options_.kernel_regularizer, options_.kernel_constraint)};
    if (options_.use_bias)
      made.bias = add_weight(
          {.name = name + "/bias", .shape = to, .initializer = options_.bias_initializer(seed.key(number + 1))},
          options_.bias_regularizer, options_.bias_constraint);
    return made;
  }

  /// x (n, time, features) times the kernel as a matrix (features, units).
  static Tensor product(const Tensor& x, const Projection& p, std::int64_t features, std::int64_t units) {
    const Tensor bias = p.bias.defined() ? reshape(p.bias.value(), {units}) : Tensor();
    return dense(x, reshape(p.kernel.value(), {features, units}), bias);
  }

  static Tensor heads_of(const Tensor& x, const Projection& p, std::int64_t heads, std::int64_t size) {
    return reshape(product(x, p, p.features(), heads * size), {x.dim(0), x.dim(1), heads, size});
  }

  /// The mask of the scores: true where the call's mask, (n, queries, keys) or (n, heads, queries, keys), and the masks
  /// of query, value and key, (n, time), are all true. Undefined if there are no masks.
  static Tensor mask_of(std::span<const Tensor> inputs, const LayerCall& call) {
    Tensor result;
    if (inputs.size() > 3) {
      result = inputs[3].rank() == 4 ? inputs[3] : expand_dims(inputs[3], 1);
      if (!call.masks.empty()) result = cast(result, DType::boolean);
    }
    for (std::size_t i = 0; i < 3; ++i) {
      const Tensor of_input = call.mask(i);
      if (!of_input.defined()) continue;
      const Tensor mask = expand_dims(expand_dims(of_input, i == 0 ? 2 : 1), 1);
      result = result.defined() ? logical_and(result, mask) : mask;
    }
    return result;
  }

  const char* class_name_;
  std::string hidden_;
  Options options_;
  HeadSizes sizes_;
  Shape result_;  ///< last axes of the result
  Projection query_, key_, value_, output_;
  RandomDraws draws_;
};

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options)
    : Layer(std::make_shared<AttentionImpl<MultiHeadAttentionOptions>>("MultiHeadAttention", "", options)) {}

MultiHeadAttention MultiHeadAttention::from_config(LayerConfig& config) {
  return MultiHeadAttention(read_options<MultiHeadAttentionOptions>(config, list));
}

GroupQueryAttention::GroupQueryAttention(const GroupQueryAttentionOptions& options)
    : Layer(std::make_shared<AttentionImpl<GroupQueryAttentionOptions>>("GroupQueryAttention", "_", options)) {}

GroupQueryAttention GroupQueryAttention::from_config(LayerConfig& config) {
  return GroupQueryAttention(read_options<GroupQueryAttentionOptions>(config, list));
}

bool is_attention(std::string_view class_name) {
  return class_name == "MultiHeadAttention" || class_name == "GroupQueryAttention";
}

}  // namespace lockstep
