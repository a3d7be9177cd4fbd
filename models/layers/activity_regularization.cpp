#include "lockstep/models/layers/activity_regularization.h"

#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

class ActivityRegularizationImpl final : public LayerOf<ActivityRegularizationOptions> {
 public:
  explicit ActivityRegularizationImpl(const ActivityRegularizationOptions& options)
      : LayerOf(
            "ActivityRegularization", options,
            {.can_compute_in_bf16 = true, .can_be_captured = true, .may_return_input = true, .supports_masking = true}),
        regularizer_(options.l1, options.l2) {}

  Shape output_shape(std::span<const Shape> inputs) const override { return only_input(class_name(), inputs); }
  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    return penalized(call, regularizer_, inputs[0]);
  }

 private:
  Regularizer regularizer_;
};

}  // namespace

void ActivityRegularizationOptions::describe(LayerConfig& config) {
  config.option("l1", l1);
  config.option("l2", l2);
}

ActivityRegularization::ActivityRegularization(const ActivityRegularizationOptions& options)
    : Layer(std::make_shared<ActivityRegularizationImpl>(options)) {}

}  // namespace lockstep
