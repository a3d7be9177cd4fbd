#pragma once

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <support/tensors.h>

#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/kernels/cuda/convolution.h>
#include <lockstep/kernels/window/window2d.h>

// Convolutions to plan and compute, and their cuDNN descriptors.

namespace lockstep::test {

struct ConvolutionCase {
  Shape x;
  Shape kernel;
  Conv2dOptions options{};  ///< without groups, which follow from the kernel
};

/// Every option, at sizes that plain loops can compute.
inline std::vector<ConvolutionCase> small_convolutions() {
  return {{{2, 5, 6, 3}, {3, 3, 3, 4}},
          {{2, 5, 6, 16}, {3, 3, 16, 8}, {.padding = Padding::same}},
          {{1, 7, 7, 17}, {3, 2, 17, 5}, {.strides = {2, 1}, .padding = Padding::same}},
          {{3, 6, 6, 5}, {2, 2, 5, 17}, {.strides = {2, 2}}},
          {{2, 8, 6, 4}, {3, 3, 4, 8}, {.strides = {2, 2}, .padding = Padding::same}},
          {{3, 4, 4, 1}, {4, 4, 1, 1}, {.padding = Padding::same}},
          {{2, 1, 1, 8}, {1, 1, 8, 24}},
          {{1, 9, 7, 3}, {2, 1, 3, 16}, {.strides = {3, 4}}},
          {{2, 9, 8, 3}, {3, 3, 3, 4}, {.dilation = {2, 3}}},
          {{1, 6, 7, 5}, {3, 2, 5, 3}, {.padding = Padding::same, .dilation = {3, 2}}},
          {{2, 6, 5, 6}, {3, 3, 3, 4}, {.padding = Padding::same}},
          {{2, 7, 5, 9}, {2, 3, 3, 6}, {.strides = {2, 1}}},
          {{2, 6, 5, 16}, {3, 3, 1, 16}, {.padding = Padding::same}},
          {{2, 5, 6, 8}, {3, 3, 1, 24}, {.strides = {2, 2}, .padding = Padding::same}},
          {{1, 7, 7, 5}, {3, 3, 1, 5}, {.dilation = {2, 2}}}};
}

inline ConvolutionCase unstrided(std::int64_t size, std::int64_t in, std::int64_t out, std::int64_t taps) {
  return {{32, size, size, in}, {taps, taps, in, out}, {.padding = Padding::same}};
}

inline ConvolutionCase halving(std::int64_t size, std::int64_t in, std::int64_t out, std::int64_t taps,
                               Padding padding) {
  return {{32, size, size, in}, {taps, taps, in, out}, {.strides = {2, 2}, .padding = padding}};
}

/// models/zoo/mini_googlenet.cpp, images of 32 x 32.
inline std::vector<ConvolutionCase> mini_googlenet_convolutions() {
  std::vector<ConvolutionCase> cases{unstrided(32, 3, 96, 3), halving(32, 80, 80, 3, Padding::valid),
                                     halving(15, 144, 96, 3, Padding::valid)};
  struct Inception {
    std::int64_t size, in, narrow, wide;
  };
  for (const auto& [size, in, narrow, wide] :
       {Inception{32, 96, 32, 32}, Inception{32, 64, 32, 48}, Inception{15, 160, 112, 48}, Inception{15, 160, 96, 64},
        Inception{15, 160, 80, 80}, Inception{15, 160, 48, 96}, Inception{7, 240, 176, 160},
        Inception{7, 336, 176, 160}}) {
    cases.push_back(unstrided(size, in, narrow, 1));
    cases.push_back(unstrided(size, in, wide, 3));
  }
  return cases;
}

/// models/zoo/small_cnn.cpp, images of 32 x 32.
inline std::vector<ConvolutionCase> small_cnn_convolutions() {
  return {{{32, 32, 32, 3}, {3, 3, 3, 32}}, {{32, 15, 15, 32}, {3, 3, 32, 64}}};
}

/// models/zoo/resnet.cpp, images of 224 x 224.
inline std::vector<ConvolutionCase> resnet50_convolutions() {
  std::vector<ConvolutionCase> cases{halving(230, 3, 64, 7, Padding::valid), unstrided(56, 64, 64, 1),
                                     unstrided(56, 64, 256, 1)};
  for (const std::int64_t width : {64, 128, 256, 512}) {
    const std::int64_t size = 56 * 64 / width;
    cases.push_back(unstrided(size, width, width, 3));
    cases.push_back(unstrided(size, width, 4 * width, 1));
    cases.push_back(unstrided(size, 4 * width, width, 1));
    if (width == 64) continue;
    cases.push_back(halving(2 * size, 2 * width, width, 1, Padding::valid));
    cases.push_back(halving(2 * size, 2 * width, 4 * width, 1, Padding::valid));
  }
  return cases;
}

/// models/zoo/xception.cpp, images of 299 x 299.
inline std::vector<ConvolutionCase> xception_convolutions() {
  std::vector<ConvolutionCase> cases{halving(299, 3, 32, 3, Padding::valid), {{32, 149, 149, 32}, {3, 3, 32, 64}}};
  struct Separable {
    std::int64_t size, in, out;
  };
  for (const auto& [size, in, out] :
       {Separable{147, 64, 128}, Separable{147, 128, 128}, Separable{74, 128, 256}, Separable{74, 256, 256},
        Separable{37, 256, 728}, Separable{37, 728, 728}, Separable{19, 728, 728}, Separable{19, 728, 1024},
        Separable{10, 1024, 1536}, Separable{10, 1536, 2048}}) {
    cases.push_back({{32, size, size, in}, {3, 3, 1, in}, {.padding = Padding::same}});
    cases.push_back(unstrided(size, in, out, 1));
  }
  for (const auto& [size, in, out] :
       {Separable{147, 64, 128}, Separable{74, 128, 256}, Separable{37, 256, 728}, Separable{19, 728, 1024}})
    cases.push_back(halving(size, in, out, 1, Padding::same));
  return cases;
}

inline Sliding2d sliding(const ConvolutionCase& c) {
  return slide_window("test", c.x, {c.kernel[0], c.kernel[1]}, c.options.strides, c.options.padding,
                      c.options.dilation);
}

inline Shape result_shape(const ConvolutionCase& c) {
  const Size2d size = sliding(c).output;
  return {c.x[0], size.height, size.width, c.kernel[3]};
}

inline cudnn::Convolution convolution_of(const ConvolutionCase& c, cudnn::ConvolutionPass pass,
                                         DType dtype = DType::f32) {
  return {pass, dtype, c.x, c.kernel, result_shape(c), sliding(c).window};
}

/// The longest sum of all passes.
inline std::int64_t length(const cudnn::Convolution& c) {
  const auto taps = c.kernel_size[0] * c.kernel_size[1] * std::max(c.channels, c.filters);
  return std::max(taps, c.n * c.y_size[0] * c.y_size[1]);
}

/// Compares up to the rounding of f32 sums and of results in the convolution's dtype.
inline void expect_sums(const cudnn::Convolution& c, const Tensor& actual, const std::vector<double>& expected) {
  if (c.dtype == DType::f32) return expect_close(actual, expected, length(c));
  const double allowed = tolerance(DType::bf16, 1, unsigned_sum(expected, 1));
  EXPECT_THAT(actual.to_vector<double>(), testing::Pointwise(testing::DoubleNear(allowed), expected));
}

}  // namespace lockstep::test
