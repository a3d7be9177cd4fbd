#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include <torch/torch.h>

// Models of bench/peers/pytorch_models.py as libtorch modules. With the same seed, both have the same initial weights.

namespace lockstep::bench {

using Net = torch::nn::Sequential;

/// Adds a convolution with bias and its batch normalization.
inline void add_normalized(Net& layers, std::int64_t inputs, std::int64_t filters, std::int64_t kernel,
                           std::int64_t stride = 1, std::int64_t padding = 0) {
  layers->push_back(
      torch::nn::Conv2d(torch::nn::Conv2dOptions(inputs, filters, kernel).stride(stride).padding(padding)));
  layers->push_back(torch::nn::BatchNorm2d(torch::nn::BatchNorm2dOptions(filters).eps(1.001e-5).momentum(0.01)));
}

inline torch::nn::ReLU relu() { return torch::nn::ReLU(torch::nn::ReLUOptions(/*inplace=*/true)); }

/// Residual block of ResNet-50.
struct BottleneckImpl : torch::nn::Cloneable<BottleneckImpl> {
  BottleneckImpl(std::int64_t inputs, std::int64_t filters, std::int64_t stride, bool projects)
      : inputs(inputs), filters(filters), stride(stride), projects(projects) {
    BottleneckImpl::reset();
  }
  void reset() override {
    narrow = Net();
    add_normalized(narrow, inputs, filters, 1, stride);
    narrow->push_back(relu());
    add_normalized(narrow, filters, filters, 3, 1, 1);
    narrow->push_back(relu());
    add_normalized(narrow, filters, 4 * filters, 1);
    register_module("narrow", narrow);
    shortcut = Net();
    if (projects) add_normalized(shortcut, inputs, 4 * filters, 1, stride);
    register_module("shortcut", shortcut);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return ((projects ? shortcut->forward(x) : x) + narrow->forward(x)).relu_();
  }

  std::int64_t inputs, filters, stride;
  bool projects;
  Net narrow = nullptr, shortcut = nullptr;
};
TORCH_MODULE(Bottleneck);

/// Adds a learned vector for each position to tokens of shape (positions, batch, width).
struct PositionsImpl : torch::nn::Cloneable<PositionsImpl> {
  PositionsImpl(std::int64_t positions, std::int64_t width) : positions(positions), width(width) {
    PositionsImpl::reset();
  }
  void reset() override { values = register_parameter("values", torch::zeros({positions, 1, width})); }
  torch::Tensor forward(const torch::Tensor& x) { return x + values; }

  std::int64_t positions, width;
  torch::Tensor values;
};
TORCH_MODULE(Positions);

/// Keras' default initialization of convolutions and dense layers.
inline void initialize(Net& net) {
  const torch::NoGradGuard no_grad;
  for (const auto& module : net->modules()) {
    torch::Tensor weight;
    torch::Tensor bias;
    if (const auto* const conv = module->as<torch::nn::Conv2d>())
      std::tie(weight, bias) = std::tie(conv->weight, conv->bias);
    if (const auto* const dense = module->as<torch::nn::Linear>())
      std::tie(weight, bias) = std::tie(dense->weight, dense->bias);
    if (weight.defined()) torch::nn::init::xavier_uniform_(weight);
    if (bias.defined()) torch::nn::init::zeros_(bias);
  }
}

/// ResNet-50 (He et al. 2015) for images (n, 3, height, width).
inline Net resnet50() {
  Net net;
  add_normalized(net, 3, 64, 7, 2, 3);
  net->push_back(relu());
  net->push_back(torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(3).stride(2).padding(1)));
  std::int64_t inputs = 64;
  const std::vector<int> blocks{3, 4, 6, 3};
  for (std::size_t stage = 0; stage < blocks.size(); ++stage)
    for (int block = 0; block < blocks[stage]; ++block) {
      const std::int64_t filters = 64LL << stage;
      net->push_back(Bottleneck(inputs, filters, stage > 0 && block == 0 ? 2 : 1, block == 0));
      inputs = 4 * filters;
    }
  net->push_back(torch::nn::AdaptiveAvgPool2d(1));
  net->push_back(torch::nn::Flatten());
  net->push_back(torch::nn::Linear(inputs, 1000));
  initialize(net);
  return net;
}

/// Transformer encoder that classifies sequences (n, 64) of int64 tokens. Has no dropout, so that all functions of
/// ways.h compute the same losses.
inline Net transformer() {
  Net net(torch::nn::Embedding(1000, 256),
          torch::nn::Functional([](const torch::Tensor& x) { return x.transpose(0, 1); }), Positions(64, 256));
  for (int layer = 0; layer < 4; ++layer)
    net->push_back(torch::nn::TransformerEncoderLayer(
        torch::nn::TransformerEncoderLayerOptions(256, 4).dim_feedforward(1024).dropout(0)));
  net->push_back(torch::nn::Functional([](const torch::Tensor& x) { return x.mean(0); }));
  net->push_back(torch::nn::Linear(256, 10));
  initialize(net);
  return net;
}

}  // namespace lockstep::bench
