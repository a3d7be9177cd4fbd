#include "lockstep/models/layers/adaptive_pooling.h"

#include <type_traits>
#include <vector>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/elementwise/place_kernels.h>
#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/pooling/pool2d.h>
#include <lockstep/models/layers/kernel_options.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

/// Options: AdaptivePooling2DOptions or AdaptivePooling1DOptions.
template <class Options>
void list_adaptive_pooling(LayerConfig& config, Options& options) {
  list_size(config, "output_size", options.output_size);
  config.channels_last();
}

using Op = Tensor (*)(const Tensor&, const Pool2dOptions&);

/// Pools the rows (axis 1) or columns (axis 2) of images to `size` results. The windows have at most two sizes. Pools
/// once for each of these sizes, at all positions (stride 1); then takes each result from the pooling with the size of
/// the result's window.
Tensor pool_along(Op op, const Tensor& x, int axis, std::int64_t size) {
  const std::int64_t elements = x.dim(axis);
  const std::int64_t small = (elements + size - 1) / size;
  bool has_large = false;
  for (std::int64_t i = 0; i < size && !has_large; ++i)
    has_large = ((i + 1) * elements + size - 1) / size - i * elements / size > small;
  const auto at_all_places = [&](std::int64_t window) {
    return op(x, {.window = axis == 1 ? Size2d{window, 1} : Size2d{1, window}, .strides = Size2d{1, 1}});
  };
  std::vector<Tensor> results{at_all_places(small)};
  if (has_large) results.push_back(at_all_places(small + 1));
  const Tensor places = Tensor::empty({size}, DType::i64);  // filled on the device, without an upload
  launch(kernels::AdaptivePlaces{elements, small, places});
  return take(concatenate(results, axis), places, axis);
}

/// Images (n, h, w, c) -> (n, size.height, size.width, c).
Tensor adaptive_pool(Op op, const Tensor& x, Size2d size) {
  if (x.dim(1) % size.height == 0 && x.dim(2) % size.width == 0)
    return op(x, {.window = {x.dim(1) / size.height, x.dim(2) / size.width}});
  return pool_along(op, pool_along(op, x, 1, size.height), 2, size.width);
}

/// Options: AdaptivePooling2DOptions or AdaptivePooling1DOptions.
template <class Options>
class AdaptivePoolingImpl final : public LayerOf<Options> {
 public:
  AdaptivePoolingImpl(const char* class_name, Op op, const Options& options)
      : LayerOf<Options>(class_name, options, {.can_compute_in_bf16 = true}), op_(op) {
    check_size(class_name, "an output_size", options.output_size);
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const std::int64_t channels = only_filled(class_name_, inputs, is_1d).dim(-1);
    const Size2d size = for_images(options_.output_size);
    return is_1d ? Shape{size.width, channels} : Shape{size.height, size.width, channels};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    const Tensor y = adaptive_pool(op_, is_1d ? as_images(inputs[0]) : inputs[0], for_images(options_.output_size));
    return is_1d ? squeeze(y, {1}) : y;
  }

 private:
  using LayerOf<Options>::class_name_;
  using LayerOf<Options>::options_;

  static constexpr bool is_1d = std::is_same_v<Options, AdaptivePooling1DOptions>;

  Op op_;
};

}  // namespace

void AdaptivePooling1DOptions::describe(LayerConfig& config) { list_adaptive_pooling(config, *this); }

void AdaptivePooling2DOptions::describe(LayerConfig& config) { list_adaptive_pooling(config, *this); }

AdaptiveMaxPooling1D::AdaptiveMaxPooling1D(const AdaptivePooling1DOptions& options)
    : Layer(std::make_shared<AdaptivePoolingImpl<AdaptivePooling1DOptions>>("AdaptiveMaxPooling1D", max_pool2d,
                                                                            options)) {}

AdaptiveAveragePooling1D::AdaptiveAveragePooling1D(const AdaptivePooling1DOptions& options)
    : Layer(std::make_shared<AdaptivePoolingImpl<AdaptivePooling1DOptions>>("AdaptiveAveragePooling1D", average_pool2d,
                                                                            options)) {}

AdaptiveMaxPooling2D::AdaptiveMaxPooling2D(const AdaptivePooling2DOptions& options)
    : Layer(std::make_shared<AdaptivePoolingImpl<AdaptivePooling2DOptions>>("AdaptiveMaxPooling2D", max_pool2d,
                                                                            options)) {}

AdaptiveAveragePooling2D::AdaptiveAveragePooling2D(const AdaptivePooling2DOptions& options)
    : Layer(std::make_shared<AdaptivePoolingImpl<AdaptivePooling2DOptions>>("AdaptiveAveragePooling2D", average_pool2d,
                                                                            options)) {}

}  // namespace lockstep
