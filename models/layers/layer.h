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

/// How the network wants one call of a layer done.
struct LayerCall {
  /// The network's mode.
  Mode mode = Mode::inference;
  bool fused_relu = false;  ///< apply max(0, .) to the result; only given where LayerTraits::can_fuse_relu
  Tensor out{};             ///< where to write the result, if defined; only given where LayerTraits::can_write_to
  bool is_output = false;   ///< the result is the network's: a softmax or sigmoid keeps its logits for losses
};

/// Where a layer gets its variables' initial values and its random numbers from.
struct LayerSeed {
  std::uint64_t seed = 0;    ///< the model's
  std::uint32_t stream = 0;  ///< the layer's number in the model

  /// The key of the layer's random sequence `number`, of at most 16, e.g. one for each weight.
  RandomKey key(std::uint32_t number) const { return {.seed = seed, .stream = stream * 16 + number}; }
};

/// What a network and its training may rely on in a kind of layer.
struct LayerTraits {
  bool can_fuse_relu = false;  ///< `call` heeds LayerCall::fused_relu
  bool can_write_to = false;   ///< `call` heeds LayerCall::out
  /// `call` takes bf16, beside weights of f32, and then gives it; the network casts around other layers.
  bool can_compute_in_bf16 = false;
  /// `call` in training reads no values and, but for what it does by GpuCapture::each_time, has a GPU do the same for
  /// every batch of one shape: then it need not be called for each (FitOptions::cuda_graphs).
  bool can_be_captured = false;
  bool is_relu = false;          ///< only applies max(0, .), which a layer before it may do in its own pass
  bool joins_last_axis = false;  ///< only joins its inputs along the last axis, so that they may be written in place
  /// Looks up rows of a weight (embedding_lookup): training then finds out in its first step which gradients are rows.
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
  /// Where Keras' weight files hold this layer's variables, within its group.
  virtual std::string_view weights_group() const { return "vars"; }
  /// Throws InvalidArgument for inputs that the layer, or what it has been built for, cannot take.
  virtual Shape output_shape(std::span<const Shape> inputs) const = 0;
  /// Makes the variables. Called once, before the first `call`, in the scope of the model's strategy.
  void build(std::span<const Shape> inputs, const LayerSeed& seed);
  /// The result for a batch, (n, output_shape), on the calling replica's weights; differentiable. Inputs of real
  /// numbers are of `call_dtype`, and so is the result.
  virtual Tensor call(std::span<const Tensor> inputs, const LayerCall& call) = 0;
  /// What it draws random numbers from, beside the weights all that a run needs to resume; null if it draws none.
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
  /// Keras' `trainable`: training leaves the weights of a layer that is not as they are, batch normalization's
  /// statistics included, and no penalty on them is part of the loss.
  bool trainable() const { return trainable_; }
  /// Throws LogicError for a layer that has been built.
  void set_trainable(bool trainable);
  /// What it computes in: when it was made, that of the scope that was open.
  DTypePolicy dtype_policy() const { return dtype_policy_; }
  /// Throws LogicError for a layer that has been built.
  void set_dtype_policy(DTypePolicy policy);
  /// What a network gives of the layer's results, to other layers or as its own.
  DType compute_dtype() const { return lockstep::compute_dtype(dtype_policy_); }
  /// What `call` is given and gives: f32 where the layer cannot compute in bf16; the network then casts.
  DType call_dtype() const {
    return dtype_policy_ == DTypePolicy::float32 || traits_.can_compute_in_bf16 ? compute_dtype() : DType::f32;
  }
  /// Whether it has its variables.
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
  /// What `build` does for this kind of layer.
  virtual void make_weights(std::span<const Shape> /*inputs*/, const LayerSeed& /*seed*/) {}
  /// Lists variables that other layers have made, for a layer that runs those.
  void adopt_weights(std::vector<Variable> variables) { variables_ = std::move(variables); }
  /// Makes a variable "layer/name" and lists it among `variables()`. Throws InvalidArgument, naming it, where the
  /// constraint is over axes that it does not have.
  Variable add_weight(VariableSpec spec, const Regularizer& regularizer = {}, const Constraint& constraint = {});
  /// The value of a weight that a layer may do without, such as a bias; undefined if it has none.
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
  /// Of a computation of one's own, derived from LayerImpl.
  explicit Layer(std::shared_ptr<LayerImpl> impl) : impl_(std::move(impl)) {}

  ///@{
  /// Describes a call on these inputs; nothing is computed. Throws as LayerImpl::output_shape.
  Symbol operator()(const Symbol& input) const;
  Symbol operator()(const std::vector<Symbol>& inputs) const;
  ///@}

  /// As LayerImpl::name, or the handle's own: what a model calls a layer of another model whose name was taken.
  const std::string& name() const { return name_.empty() ? impl_->name() : name_; }
  /// "layer/kernel" for one of the layer's variables, with the name of this handle.
  std::string weight_name(const Variable& variable) const;
  /// Keras' get_config, as JSON: the options, under this handle's name. Throws Unsupported as LayerImpl::describe.
  std::string get_config() const;
  /// A handle to the same layer under this name.
  Layer with_name(std::string name) const;
  ///@{
  /// What all handles to this layer share.
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
