#include "lockstep/models/layers/activity_regularization.h"

#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>

namespace lockstep {
namespace {

void list(LayerConfig& config, ActivityRegularizationOptions& options) {
  config.option("l1", options.l1);
  config.option("l2", options.l2);
}

class ActivityRegularizationImpl final : public LayerImpl {
 public:
  explicit ActivityRegularizationImpl(const ActivityRegularizationOptions& options)
      : LayerImpl(
            options.name,
            {.can_compute_in_bf16 = true, .can_be_captured = true, .may_return_input = true, .supports_masking = true}),
        options_(options),
        regularizer_(options.l1, options.l2) {}

  std::string_view class_name() const override { return "ActivityRegularization"; }
  Shape output_shape(std::span<const Shape> inputs) const override { return only_input(class_name(), inputs); }
  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    return penalized(call, regularizer_, inputs[0]);
  }
  void describe(LayerConfig& config) const override { write_options(config, list, options_); }

 private:
  ActivityRegularizationOptions options_;
  Regularizer regularizer_;
};

}  // namespace

ActivityRegularization::ActivityRegularization(const ActivityRegularizationOptions& options)
    : Layer(std::make_shared<ActivityRegularizationImpl>(options)) {}

ActivityRegularization ActivityRegularization::from_config(LayerConfig& config) {
  return ActivityRegularization(read_options<ActivityRegularizationOptions>(config, list));
}

}  // namespace lockstep
