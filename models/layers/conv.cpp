#include <lockstep/kernels/ops/window2d.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/initializers.h>
#include <lockstep/models/layers/layer_checks.h>

namespace lockstep {
namespace {

class Conv2DImpl final : public LayerImpl {
 public:
  explicit Conv2DImpl(const Conv2DOptions& options) : LayerImpl(options.name), options_(options) {
    require(options.filters >= 1, "Conv2D needs at least 1 filter, got {}", options.filters);
    require(options.kernel_size.height >= 1 && options.kernel_size.width >= 1,
            "Conv2D needs a kernel_size of at least 1, got ({}, {})", options.kernel_size.height,
            options.kernel_size.width);
    require(options.strides.height >= 1 && options.strides.width >= 1,
            "Conv2D needs strides of at least 1, got ({}, {})", options.strides.height, options.strides.width);
  }

  std::string_view class_name() const override { return "Conv2D"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& image = only_image(class_name(), inputs);
    require(!is_built() || image[2] == kernel_.shape()[2], "Conv2D '{}' was built for {} channels, got {}", name(),
            is_built() ? kernel_.shape()[2] : 0, image);
    const Size2d size =
        slide_window("Conv2D", with_batch_axis(image), options_.kernel_size, options_.strides, options_.padding).output;
    return {size.height, size.width, options_.filters};
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    return conv2d(inputs[0], kernel_.value(), bias_.value(),
                  {.strides = options_.strides, .padding = options_.padding});
  }

 private:
  void make_weights(std::span<const Shape> inputs, const LayerSeed& seed) override {
    const Shape kernel{options_.kernel_size.height, options_.kernel_size.width, inputs[0][2], options_.filters};
    kernel_ = add_weight({.name = "kernel", .shape = kernel, .initializer = glorot_uniform(seed.key(0))});
    bias_ = add_weight({.name = "bias", .shape = {options_.filters}, .initializer = zeros()});
  }

  Conv2DOptions options_;
  Variable kernel_;
  Variable bias_;
};

}  // namespace

Conv2D::Conv2D(const Conv2DOptions& options) : Layer(std::make_shared<Conv2DImpl>(options)) {}

}  // namespace lockstep
