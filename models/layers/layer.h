#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/kernels/random/random_key.h>
#include <lockstep/models/layers/constraints.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/layers/regularizers.h>
#include <lockstep/runtime/core/handle.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/core/variable.h>

namespace lockstep {

/// Whether a call trains (batch statistics, dropout) or infers.
enum class Mode { inference, train };

/// The network's options for one call of a layer.
struct LayerCall {
  /// The network's mode.
  Mode mode = Mode::inference;
  bool fused_relu = false;  ///< apply max(0, .) to the result; only given where LayerTraits::can_fuse_relu
  Tensor out{};             ///< where to write the result, if defined; only given where LayerTraits::can_write_to
  /// The result is the network's, or may become it without a change: a softmax or sigmoid keeps its logits for losses.
  bool is_output = false;
};

/// The seed of a layer's initial values and random numbers.
struct LayerSeed {
  std::uint64_t seed = 0;    ///< the model's
  std::uint32_t stream = 0;  ///< the layer's number in the model

  /// The key of the layer's random sequence `number`, of at most 16, e.g. one for each weight.
  RandomKey key(std::uint32_t number) const { return {.seed = seed, .stream = stream * 16 + number}; }
};

/// Properties of a kind of layer that the network and training use.
struct LayerTraits {
  bool can_fuse_relu = false;  ///< `call` supports LayerCall::fused_relu
  bool can_write_to = false;   ///< `call` supports LayerCall::out
  /// `call` takes bf16, with weights of f32, and then returns it; the network casts around other layers.
  bool can_compute_in_bf16 = false;
  /// `call` in training reads no values and, except for GpuCapture::each_time, gives a GPU the same work for
  /// every batch of one shape, so that one call can be captured for all (FitOptions::cuda_graphs).
  bool can_be_captured = false;
  bool is_relu = false;           ///< only applies max(0, .), which the layer before it may fuse
  bool may_return_input = false;  ///< `call` may return its input itself, as dropout at inference does
  bool joins_last_axis = false;   ///< only joins its inputs along the last axis, so they may be written in place
  /// Looks up rows of a weight (embedding_lookup): the first training step then finds which gradients are rows.
  /// Those of other layers' weights are exchanged whole.
  bool looks_up_rows = false;
};

class LayerConfig;
class RandomDraws;

/// A layer's computation and weights. One object, used by every replica: per-replica state is in variables.
/// Shapes are without the batch axis.
class LayerImpl {
 public:
  virtual ~LayerImpl() = default;

  /// Keras' name of the class, e.g. "Conv2D".
  virtual std::string_view class_name() const = 0;
  /// The group of this layer's variables in Keras' weight files, within the layer's group.
  virtual std::string_view weights_group() const { return "vars"; }
  /// Throws InvalidArgument for inputs that the layer cannot take, or was not built for.
  virtual Shape output_shape(std::span<const Shape> inputs) const = 0;
  /// Makes the variables. Called once, before the first `call`, in the scope of the model's strategy.
  void build(std::span<const Shape> inputs, const LayerSeed& seed);
  /// The result for a batch, (n, output_shape), on the calling replica's weights; differentiable. Inputs of real
  /// numbers are of `call_dtype`, and so is the result.
  virtual Tensor call(std::span<const Tensor> inputs, const LayerCall& call) = 0;
  /// Its random numbers, which with the weights are all that a run needs to resume; null if it draws none.
  virtual RandomDraws* random_draws() { return nullptr; }
  /// As given at construction.
  const LayerTraits& traits() const { return traits_; }
  /// Gives the layer's options, for files of whole models. Throws Unsupported for a layer that such files cannot hold.
  virtual void describe(LayerConfig& config) const;

  ///@{
  /// Empty until the program or the model gives one.
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  ///@}
  /// Keras' `trainable`: training does not change the weights of a frozen layer, batch normalization's
  /// statistics included, and the loss has no penalties on them.
  bool trainable() const { return trainable_; }
  /// Throws LogicError for a built layer.
  void set_trainable(bool trainable);
  /// The policy of the scope in which it was made.
  DTypePolicy dtype_policy() const { return dtype_policy_; }
  /// Throws LogicError for a built layer.
  void set_dtype_policy(DTypePolicy policy);
  /// The dtype of the layer's results in a network.
  DType compute_dtype() const { return lockstep::compute_dtype(dtype_policy_); }
  /// The dtype of `call`'s inputs and result: f32 where the layer cannot compute in bf16; the network then casts.
  DType call_dtype() const {
    return dtype_policy_ == DTypePolicy::float32 || traits_.can_compute_in_bf16 ? compute_dtype() : DType::f32;
  }
  /// Whether its variables have been made.
  bool is_built() const { return built_; }
  /// In Keras' order.
  const std::vector<Variable>& variables() const { return variables_; }
  /// Elements of all variables.
  std::int64_t count_params() const;
  /// The sum of the regularizers' penalties on the calling replica's trainable weights; undefined if there are none.
  Tensor regularization_loss() const;

 protected:
  /// `name` may be empty.
  explicit LayerImpl(std::string name, const LayerTraits& traits = {}) : name_(std::move(name)), traits_(traits) {}
  /// Makes the variables of this kind of layer, in `build`.
  virtual void make_weights(std::span<const Shape> /*inputs*/, const LayerSeed& /*seed*/) {}
  /// Lists variables of other layers, for a layer that calls those.
  void adopt_weights(std::vector<Variable> variables) { variables_ = std::move(variables); }
  /// Makes a variable "layer/name" and lists it among `variables()`. Throws InvalidArgument, naming it, where the
  /// constraint uses axes that it does not have.
  Variable add_weight(VariableSpec spec, const Regularizer& regularizer = {}, const Constraint& constraint = {});
  /// The value of an optional weight, such as a bias; undefined if the layer has none.
  static Tensor value_if_any(const Variable& weight) { return weight.defined() ? weight.value() : Tensor(); }

 private:
  std::string name_;  ///< empty until the model gives one
  LayerTraits traits_;
  bool built_ = false;
  bool trainable_ = true;
  DTypePolicy dtype_policy_ = current_dtype_policy();
  std::vector<Variable> variables_;
  std::vector<std::pair<Variable, Regularizer>> regularized_;
};

class Symbol;

/// A handle to a layer, to be called on symbols; calling one layer twice shares its weights.
class Layer {
 public:
  /// A handle to a custom layer, derived from LayerImpl.
  explicit Layer(std::shared_ptr<LayerImpl> impl) : impl_(std::move(impl)) {}

  ///@{
  /// Describes a call on these inputs; nothing is computed. Throws as LayerImpl::output_shape.
  Symbol operator()(const Symbol& input) const;
  Symbol operator()(const std::vector<Symbol>& inputs) const;
  ///@}

  /// As LayerImpl::name, or the handle's own name, where the outer model has another layer of that name.
  const std::string& name() const { return name_.empty() ? impl_->name() : name_; }
  /// "layer/kernel" for one of the layer's variables, with the name of this handle.
  std::string weight_name(const Variable& variable) const;
  /// Keras' get_config, as JSON: the options, under this handle's name. Throws Unsupported as LayerImpl::describe.
  std::string get_config() const;
  /// A handle to the same layer under this name.
  Layer with_name(std::string name) const;
  ///@{
  /// The shared implementation.
  LayerImpl& impl() const { return *impl_; }
  const std::shared_ptr<LayerImpl>& shared() const { return impl_.shared(); }
  ///@}

 private:
  Handle<LayerImpl, "layer"> impl_;
  std::string name_{};
};

inline Layer Layer::with_name(std::string name) const {
  Layer layer = *this;
  layer.name_ = std::move(name);
  return layer;
}

}  // namespace lockstep
