#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/models/layers/constraints.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/layers/layer_call.h>
#include <lockstep/models/layers/layer_seed.h>
#include <lockstep/models/layers/regularizers.h>
#include <lockstep/runtime/core/handle.h>
#include <lockstep/runtime/tensor/tensor.h>
#include <lockstep/strategy/core/variable.h>

namespace lockstep {

/// Properties of a class of layers that the network and training use.
struct LayerTraits {
  bool can_fuse_relu = false;  ///< `call` supports LayerCall::fused_relu
  bool can_fuse_add = false;   ///< `call` adds a second input, if given, to its result before a fused ReLU
  bool can_write_to = false;   ///< `call` supports LayerCall::out
  /// The axis of the channels, counting the batch axis. can_fuse_add and can_write_to apply only if it is the last
  /// axis.
  int channel_axis = -1;
  /// `call` accepts bf16 inputs with f32 weights and returns bf16. The network casts inputs of other layers to f32.
  bool can_compute_in_bf16 = false;
  /// `call` in training reads no tensor on the host and, apart from GpuCapture::each_time, submits the same work for
  /// every batch of one shape, so that it can be captured in a CUDA graph (FitOptions::cuda_graphs).
  bool can_be_captured = false;
  bool is_relu = false;           ///< applies max(0, .) and nothing else; the layer before it may fuse it
  bool is_add = false;            ///< adds its inputs and does nothing else; the layer before it may fuse it
  bool may_return_input = false;  ///< `call` may return its input itself, as dropout at inference does
  /// The axis along which the layer concatenates, counting the batch axis; 0 if it does not concatenate. If this is the
  /// last axis, the layers that compute the inputs may write into the result.
  int concatenated_axis = 0;
  /// `call` uses embedding_lookup on a weight, whose gradient is then sparse. The first training step of a model with
  /// such a layer determines which gradients are sparse; for other models, fit exchanges all gradients as dense
  /// tensors.
  bool looks_up_rows = false;
  /// Keras' property of this name: the result has the mask that compute_mask returns. Results of layers without this
  /// property have no mask, and a network warns if an input of such a layer has a mask.
  bool supports_masking = false;
  bool makes_masks = false;  ///< compute_mask returns a mask even if no input has one
};

class LayerConfig;
class LayerImpl;
class RandomDraws;

/// Variables that Keras' weight files hold in one group.
struct WeightsPart {
  std::string group;      ///< path of the group within the layer's group, e.g. "vars"
  std::string name;       ///< name of the inner layer that owns them in Keras; empty for the layer itself
  std::size_t count = 0;  ///< number of variables
};

/// A layer that another layer calls.
struct InnerLayer {
  std::string group;                 ///< group of its variables in Keras' weight files, within the outer layer's group
  std::shared_ptr<LayerImpl> layer;  ///< not null
};

/// A layer's computation and weights. All replicas share one object; state that differs between replicas must be stored
/// per replica, as variables and RandomDraws do. Shapes are without the batch axis.
class LayerImpl {
 public:
  virtual ~LayerImpl() = default;

  /// Keras' name of the class, e.g. "Conv2D".
  virtual std::string_view class_name() const = 0;
  /// How Keras' weight files divide the layer's variables into groups, in the variables' order.
  virtual std::vector<WeightsPart> weights_parts() const {
    return {{.group = "vars", .name = {}, .count = variables_.size()}};
  }
  /// The shape of the first result. Throws InvalidArgument for inputs that the layer cannot take or was not built for.
  virtual Shape output_shape(std::span<const Shape> inputs) const = 0;
  /// The shapes of the results after the first one; none for most layers. Throws the same errors as output_shape.
  virtual std::vector<Shape> more_output_shapes(std::span<const Shape> /*inputs*/) const { return {}; }
  /// Creates the variables. Call it once, before the first `call`, in the scope of the model's strategy, with inputs
  /// that output_shape accepts. Throws LogicError in a second call, and InvalidArgument for a null initializer.
  void build(std::span<const Shape> inputs, const LayerSeed& seed);
  /// The result for a batch, of shape (n, output_shape), computed with the calling replica's weights; differentiable.
  /// Floating-point inputs and the result have the dtype `call_dtype`. LayerCall::more_results, if not null, receives
  /// the further results.
  virtual Tensor call(std::span<const Tensor> inputs, const LayerCall& call) = 0;
  /// Keras' compute_mask: the mask of the result, or an undefined tensor. By default the first input's mask. `masks`
  /// has an element for each input, undefined for an input without a mask.
  virtual Tensor compute_mask(std::span<const Tensor> inputs, std::span<const Tensor> masks) const;
  /// Whether the result of this index, 0 for the first one, has the mask that compute_mask returns. By default only the
  /// first result has it.
  virtual bool has_mask(int result) const { return result == 0; }
  /// The state of the layer's random numbers, which a backup of a run contains; null if the layer draws none.
  virtual RandomDraws* random_draws() { return nullptr; }
  /// The traits given at construction.
  const LayerTraits& traits() const { return traits_; }
  /// Lists the layer's options for files of whole models. A class that overrides it must be registered, see
  /// register_keras_serializable. The default throws Unsupported: whole-model files cannot hold a layer that does not
  /// override it.
  virtual void describe(LayerConfig& config) const;

  ///@{
  /// The name; empty until the program or the model sets one.
  const std::string& name() const { return name_; }
  void set_name(std::string name);
  ///@}
  ///@{
  /// Whether a model chose the name. If another model that contains the layer has a layer of the same name, that model
  /// gives this layer another name.
  bool has_automatic_name() const { return has_automatic_name_; }
  void set_automatic_name(std::string name);
  ///@}
  /// Keras' `trainable`. Training does not change the weights and moving statistics of a frozen layer, and the loss has
  /// no penalties on its weights.
  bool trainable() const { return trainable_; }
  /// Freezes or unfreezes the layer and the layers inside it, in all models that contain it. A model that was compiled
  /// before must be compiled again before fit(). When a layer is frozen, the moving statistics of all replicas become
  /// the mean over the replicas, and no step changes them until the layer is unfrozen; all workers must freeze it at
  /// the same time. Throws LogicError in a replica. For a layer with moving statistics, also throws LogicError in the
  /// scope of a strategy other than the strategy in whose scope the statistics were created.
  void set_trainable(bool trainable);
  /// The dtype policy of the scope in which the layer was created, or the policy set since.
  DTypePolicy dtype_policy() const { return dtype_policy_; }
  /// Throws LogicError for a built layer.
  void set_dtype_policy(DTypePolicy policy);
  /// The dtype of the layer's results in a network.
  DType compute_dtype() const { return lockstep::compute_dtype(dtype_policy_); }
  /// The dtype of `call`'s floating-point inputs and result: compute_dtype(), but f32 if the layer cannot compute in
  /// bf16. The network casts where the two differ.
  DType call_dtype() const {
    return dtype_policy_ == DTypePolicy::float32 || traits_.can_compute_in_bf16 ? compute_dtype() : DType::f32;
  }
  /// Whether build() has created the variables.
  bool is_built() const { return seed_.has_value(); }
  /// One more than the largest LayerSeed::stream that the layer and the layers inside it use with this seed; 0 if they
  /// use none.
  virtual std::uint32_t first_free_stream(std::uint64_t seed) const;
  /// Whether this layer is an inner layer of another layer. Only the other layer may call it.
  bool is_inner() const { return !outer_name_.empty(); }
  /// The layers inside this one, in the order in which they were built.
  const std::vector<InnerLayer>& inner_layers() const { return inner_layers_; }
  /// The variables of the layer and of the layers inside it, in Keras' order.
  const std::vector<Variable>& variables() const { return variables_; }
  /// Whether the layer has variables that are never trainable, such as moving statistics.
  bool has_statistics() const;
  /// Number of elements of all variables.
  std::int64_t count_params() const;
  /// The sum of the regularizers' penalties on the calling replica's copies of the trainable weights; undefined if no
  /// trainable weight has a regularizer.
  Tensor regularization_loss() const;

 protected:
  /// `name` may be empty.
  explicit LayerImpl(std::string name, const LayerTraits& traits = {}) : name_(std::move(name)), traits_(traits) {}
  /// Creates the variables; called by build().
  virtual void make_weights(std::span<const Shape> /*inputs*/, const LayerSeed& /*seed*/) {}
  /// Builds `inner`, a layer that this layer's `call` uses. The inner layer's variables are also listed in this layer's
  /// variables(), with names such as "layer/inner/kernel". The inner layer is frozen if this layer is, and gets Keras'
  /// default name if it has none. A layer with inner layers must not have variables of its own. Throws InvalidArgument
  /// if `inner` has been built.
  void build_inner(const InnerLayer& inner, std::span<const Shape> inputs, const LayerSeed& seed);
  /// Like build_inner, for a layer that has been built; its variables keep their names. Throws InvalidArgument if
  /// `inner` is already inside another layer.
  void adopt_inner(const InnerLayer& inner);
  /// Creates a variable "layer/name" and appends it to `variables()`. Throws InvalidArgument, naming the variable, if
  /// its shape does not have the axes of the constraint.
  Variable add_weight(VariableSpec spec, const Regularizer& regularizer = {}, const Constraint& constraint = {});
  /// Keras' add_loss, to be used in `call`: adds a scalar, a mean over the examples, to the model's loss in training
  /// and evaluation; see AddedLosses. Throws InvalidArgument unless `loss` is a scalar of floating-point numbers.
  static void add_loss(const Tensor& loss);
  /// Creates a variable that is not in variables(), and is never trained, saved or counted.
  static Variable constant_weight(VariableSpec spec);
  /// The value of an optional weight, such as a bias; undefined if the layer has none.
  static Tensor value_if_any(const Variable& weight) { return weight.defined() ? weight.value() : Tensor(); }

 private:
  /// Sets `trainable` of this layer and the layers inside it.
  void mark_trainable(bool trainable);
  /// Adds the inner layer, its variables and its regularizers to this layer's lists.
  void list_inner(const InnerLayer& inner);

  std::string name_;        ///< empty until the model gives one
  std::string outer_name_;  ///< names of the layers around this one, outermost first, each with a "/"
  LayerTraits traits_;
  bool has_automatic_name_ = false;
  std::optional<LayerSeed> seed_;
  bool trainable_ = true;
  DTypePolicy dtype_policy_ = current_dtype_policy();
  std::vector<Variable> variables_;
  std::vector<std::pair<Variable, Regularizer>> regularized_;
  std::vector<InnerLayer> inner_layers_;
};

class Symbol;
/// Keras' argument `mask` of a call: masks of the inputs, in order, in place of all that the inputs carry. Each has the
/// first axes of its input, usually (time), and is false or 0 for masked elements.
using CallMasks = std::vector<std::optional<Symbol>>;

/// A handle to a layer, to be called on symbols; calling one layer twice shares its weights.
class Layer {
 public:
  /// A handle to a custom layer, derived from LayerImpl.
  explicit Layer(std::shared_ptr<LayerImpl> impl) : impl_(std::move(impl)) {}

  ///@{
  /// Describes a call on these inputs; nothing is computed. Throws the same errors as LayerImpl::output_shape. With
  /// masks, e.g. `LSTM({.units = 8})({x}, {mask})`, also throws InvalidArgument for masks of other shapes, and for
  /// layers of Keras without this argument and Softmax, whose mask is its second input.
  Symbol operator()(const Symbol& input) const;
  Symbol operator()(const std::vector<Symbol>& inputs) const;
  Symbol operator()(const std::vector<Symbol>& inputs, const CallMasks& masks) const;
  ///@}
  /// All results of a call. A layer with more_output_shapes, such as an LSTM with `return_state`, has several.
  std::vector<Symbol> results(const std::vector<Symbol>& inputs) const;
  /// All results of a call that is given masks.
  std::vector<Symbol> results(const std::vector<Symbol>& inputs, const CallMasks& masks) const;
  /// Keras' `layer.output`, for a handle from a model (Model::get_layer): the first result of the layer's call in that
  /// model. Throws LogicError for a handle that is not from a model, and if the model calls the layer several times.
  Symbol output() const;

  /// The handle's own name if it has one (with_name), else LayerImpl::name. If the name of a nested model's layer is
  /// already taken in the outer model, the outer model's handle to that layer gets a different name.
  const std::string& name() const { return name_.empty() ? impl_->name() : name_; }
  /// The name of one of the layer's variables, beginning with the name of this handle, e.g. "layer/kernel".
  std::string weight_name(const Variable& variable) const;
  /// Keras' get_config, as JSON: the options, under this handle's name. Throws Unsupported in the same cases as
  /// LayerImpl::describe.
  std::string get_config() const;
  /// A handle to the same layer under this name.
  Layer with_name(std::string name) const;
  /// A handle to the same layer in a model; `results` are the first results of its calls there.
  Layer with_results(const std::vector<Symbol>& results) const;
  ///@{
  /// The shared implementation.
  LayerImpl& impl() const { return *impl_; }
  const std::shared_ptr<LayerImpl>& shared() const { return impl_.shared(); }
  ///@}

 private:
  Handle<LayerImpl, "layer"> impl_;
  std::string name_{};
  std::shared_ptr<const std::vector<Symbol>> results_{};
};

}  // namespace lockstep
