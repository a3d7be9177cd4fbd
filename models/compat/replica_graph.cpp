#include "lockstep/models/compat/replica_graph.h"

#include <numeric>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <lockstep/kernels/array/array.h>
#include <lockstep/runtime/thread/device_scope.h>
#include <lockstep/strategy/input/batch_split.h>

namespace lockstep {
namespace {

/// One replica's rows of the batch, as a view.
class BatchSlice final : public LayerImpl {
 public:
  BatchSlice(std::string name, int replica, int replicas, bool legacy_split)
      : LayerImpl(std::move(name)), replica_(replica), replicas_(replicas), legacy_split_(legacy_split) {}

  std::string_view class_name() const override { return "Lambda"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return inputs[0]; }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const auto [begin, end] = rows(inputs[0].dim(0));
    return slice(inputs[0], 0, begin, end);
  }

 private:
  std::pair<std::int64_t, std::int64_t> rows(std::int64_t all) const {
    if (!legacy_split_) {
      const std::vector<std::int64_t> counts = split_rows(all, replicas_);
      const std::int64_t begin = std::accumulate(counts.begin(), counts.begin() + replica_, std::int64_t{0});
      return {begin, begin + counts[static_cast<std::size_t>(replica_)]};
    }
    const std::int64_t step = all / replicas_;
    return {replica_ * step, replica_ == replicas_ - 1 ? all : (replica_ + 1) * step};
  }

  int replica_;
  int replicas_;
  bool legacy_split_;
};

/// Concatenates the replicas' parts of a batch.
class BatchConcatenate final : public LayerImpl {
 public:
  explicit BatchConcatenate(std::string name)
      : LayerImpl(std::move(name), {.can_compute_in_bf16 = true, .supports_masking = true}) {}

  std::string_view class_name() const override { return "Concatenate"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return inputs[0]; }
  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return concatenate(inputs, 0); }
  /// All replicas run the same model, so that either all parts have a mask or none has.
  Tensor compute_mask(std::span<const Tensor>, std::span<const Tensor> masks) const override {
    return concatenate(masks, 0);
  }
};

/// Makes a layer with the dtype policy of the template's layers to which it is connected, instead of the caller's
/// policy.
template <class Impl, class... Args>
Layer layer(DTypePolicy policy, Args&&... args) {
  return with_dtype_policy(policy, [&] { return Layer(std::make_shared<Impl>(std::forward<Args>(args)...)); });
}

}  // namespace

ReplicaGraph replica_graph(const Model& template_model, const ReplicaPlan& plan) {
  const Network& network = template_model.network();
  ReplicaGraph graph;
  for (const NetworkInput& input : network.inputs()) graph.inputs.push_back(Input(input.shape, input.name));
  const int replicas = static_cast<int>(plan.devices.size());
  std::vector<std::vector<Symbol>> outputs(network.outputs().size());  // for each output, by replica
  for (int replica = 0; replica < replicas; ++replica) {
    std::vector<Symbol> parts;  // sliced on the batch's device, so that only slices are copied to other devices
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const std::string name = fmt::format("replica_{}/{}", replica, network.inputs()[i].name);
      parts.push_back(
          layer<BatchSlice>(DTypePolicy::float32, name, replica, replicas, plan.legacy_split)(graph.inputs[i]));
    }
    const LogicalDevice& device = plan.devices[static_cast<std::size_t>(replica)];
    const std::vector<Symbol> results = with_device(device, [&] { return template_model.run(parts); });
    for (std::size_t i = 0; i < results.size(); ++i) outputs[i].push_back(results[i]);
  }
  const std::vector<std::string> names = network.output_names();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const int number = network.outputs()[i];
    if (number < 0) {
      graph.outputs.push_back(graph.inputs[static_cast<std::size_t>(-1 - number)]);
      continue;
    }
    const GraphCall& output = network.calls()[static_cast<std::size_t>(number)];
    const LayerImpl& last = network.layers()[static_cast<std::size_t>(output.layer)].impl();
    const Layer join = layer<BatchConcatenate>(last.dtype_policy(), names[i]);
    graph.outputs.push_back(with_device(plan.merge_device, [&] { return join(outputs[i]); }));
  }
  return graph;
}

}  // namespace lockstep
