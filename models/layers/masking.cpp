#include "lockstep/models/layers/masking.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>
#include <lockstep/models/layers/recurrent_layer.h>

namespace lockstep {
namespace {

class MaskingImpl final : public LayerOf<MaskingOptions> {
 public:
  explicit MaskingImpl(const MaskingOptions& options)
      : LayerOf("Masking", options, {.can_compute_in_bf16 = true, .supports_masking = true, .makes_masks = true}) {
    require(std::isfinite(options.mask_value), "Masking needs a finite mask_value, got {}", options.mask_value);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& input = only_input(class_name(), inputs);
    require(input.rank() >= 2, "Masking takes sequences (time, features), got {}", input);
    return input;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return where(expand_dims(mask_of(inputs[0]), -1), inputs[0], 0);
  }

  Tensor compute_mask(std::span<const Tensor> inputs, std::span<const Tensor>) const override {
    return mask_of(inputs[0]);
  }

 private:
  Tensor mask_of(const Tensor& x) const { return any(not_equal(x, options_.mask_value), {-1}); }
};

}  // namespace

void MaskingOptions::describe(LayerConfig& config) { config.option("mask_value", mask_value); }

Masking::Masking(const MaskingOptions& options) : Layer(std::make_shared<MaskingImpl>(options)) {}

bool reads_masks(std::string_view class_name) {
  constexpr std::array<std::string_view, 4> others{"TimeDistributed", "BatchNormalization", "Softmax",
                                                   "GlobalAveragePooling1D"};
  return is_recurrent(class_name) || is_attention(class_name) || std::ranges::find(others, class_name) != others.end();
}

bool may_mask_softmax(std::string_view class_name, int input_rank, int mask_rank) {
  return class_name == "TimeDistributed" && mask_rank == input_rank;
}

}  // namespace lockstep
