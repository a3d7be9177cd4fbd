#include <algorithm>
#include <iterator>
#include <optional>

#include <kernels/cases/activations.h>
#include <kernels/cases/convolution.h>
#include <kernels/cases/op_case.h>
#include <kernels/cases/sources.h>
#include <kernels/cases/window.h>

#include <lockstep/kernels/convolution/conv1d.h>
#include <lockstep/kernels/convolution/conv1d_transpose.h>
#include <lockstep/kernels/convolution/conv2d_transpose.h>

namespace lockstep::test {
namespace {

/// Plain loops over every result and every tap; the bias is the optional third input.
std::vector<double> plain_conv2d(const Conv2dCase& c, const Values& in) {
  const Extent rows =
      extent_along(c.x[1], c.kernel[0], c.options.dilation.height, c.options.strides.height, c.options.padding);
  const Extent columns =
      extent_along(c.x[2], c.kernel[1], c.options.dilation.width, c.options.strides.width, c.options.padding);
  std::vector<double> y;
  for (std::int64_t n = 0; n < c.x[0]; ++n)
    for (std::int64_t i = 0; i < rows.size; ++i)
      for (std::int64_t j = 0; j < columns.size; ++j)
        for (std::int64_t out = 0; out < c.kernel[3]; ++out) {
          double sum = in.size() > 2 ? in[2][static_cast<std::size_t>(out)] : 0;
          for (std::int64_t di = 0; di < c.kernel[0]; ++di)
            for (std::int64_t dj = 0; dj < c.kernel[1]; ++dj) {
              const std::int64_t row = i * c.options.strides.height + di * c.options.dilation.height - rows.pad;
              const std::int64_t column = j * c.options.strides.width + dj * c.options.dilation.width - columns.pad;
              if (row < 0 || row >= c.x[1] || column < 0 || column >= c.x[2]) continue;
              const std::int64_t group = out / (c.kernel[3] / c.options.groups);
              const double* const first =
                  &in[0][static_cast<std::size_t>(((n * c.x[1] + row) * c.x[2] + column) * c.x[3])];
              const double* const channels = first + group * c.kernel[2];
              const double* const taps =
                  &in[1][static_cast<std::size_t>((di * c.kernel[1] + dj) * c.kernel[2] * c.kernel[3] + out)];
              for (std::int64_t k = 0; k < c.kernel[2]; ++k) sum += channels[k] * taps[k * c.kernel[3]];
            }
          y.push_back(sum);
        }
  return y;
}

std::vector<double> relu_of(std::vector<double> y) {
  for (double& value : y) value = std::max(value, 0.0);
  return y;
}

OpCase case_of(const Conv2dCase& c) {
  // The longest sums: a result sums over taps, a gradient of a kernel element over images and positions.
  const std::int64_t taps = c.kernel[0] * c.kernel[1] * std::max(c.kernel[2], c.kernel[3]);
  const bool relu = c.options.activation == Activation::relu;
  OpCase result{
      .name = fmt::format("conv2d of {} by {}{}", c.x, c.kernel, c.bias ? "" : ", no bias"),
      .inputs = {random_tensor(c.x, 1), random_tensor(c.kernel, 2)},
      .run = [=](In in) { return conv2d(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), c.options); },
      .reference = [=](const Values& in) { return relu ? relu_of(plain_conv2d(c, in)) : plain_conv2d(c, in); },
      .check = {.length = std::max(taps, c.x[0] * c.x[1] * c.x[2])},
      .bf16 = Bf16::data,
      .optional = c.bias ? 1U : 0U,
      .same_bits_on_any_threads = false};
  if (c.bias) result.inputs.push_back(relu ? bias_far_from_0(c.kernel[3], taps) : random_tensor({c.kernel[3]}, 3));
  return result;
}

/// A dense layer's product as a convolution of single pixels.
OpCase activated_case(const ActivationCase& activation) {
  const Conv2dCase plain{{5, 1, 1, 7}, {1, 1, 7, 3}, {.activation = activation.activation}};
  OpCase result = case_of(plain);
  result.inputs[2] = random_tensor({3}, 3);
  result.name = fmt::format("conv2d with {}", activation.name);
  result.reference = [=, of = activation.reference](const Values& in) {
    std::vector<double> y = plain_conv2d(plain, in);
    std::ranges::transform(y, y.begin(), of);
    return y;
  };
  return result;
}

/// Keras' kernel (h, w, channels, multiplier) is a kernel (h, w, 1, channels * multiplier) with `channels` groups.
OpCase depthwise_case() {
  const Conv2dCase grouped{{2, 5, 6, 3}, {3, 2, 1, 6}, {.padding = Padding::same, .groups = 3}};
  return {.name = "depthwise_conv2d",
          .inputs = {random_tensor(grouped.x, 1), random_tensor({3, 2, 3, 2}, 2), random_tensor({6}, 3)},
          .run = [](In in) { return depthwise_conv2d(in[0], in[1], in[2], {.padding = Padding::same}); },
          .reference = [=](const Values& in) { return plain_conv2d(grouped, in); },
          .check = {.length = 2 * 5 * 6},
          .bf16 = Bf16::data,
          .optional = 1,
          .same_bits_on_any_threads = false};
}

/// conv1d of x (n, steps, channels) by a kernel (taps, channels / groups, filters).
OpCase conv1d_case(const char* padding, const Shape& x, const Shape& kernel, const Conv1dOptions& options, bool bias) {
  const auto reference = [=](const Values& in) {
    const std::int64_t reach = (kernel[0] - 1) * options.dilation;
    const bool causal = options.padding == Padding1d::causal;
    const Extent extent = extent_along(x[1], kernel[0], options.dilation, options.stride,
                                       options.padding == Padding1d::valid ? Padding::valid : Padding::same);
    std::vector<double> y;
    for (std::int64_t n = 0; n < x[0]; ++n)
      for (std::int64_t i = 0; i < extent.size; ++i)
        for (std::int64_t out = 0; out < kernel[2]; ++out) {
          double sum = in.size() > 2 ? in[2][static_cast<std::size_t>(out)] : 0;
          const std::int64_t first = out / (kernel[2] / options.groups) * kernel[1];  // channel of the filter's group
          for (std::int64_t tap = 0; tap < kernel[0]; ++tap) {
            const std::int64_t step = i * options.stride + tap * options.dilation - (causal ? reach : extent.pad);
            if (step < 0 || step >= x[1]) continue;
            for (std::int64_t k = 0; k < kernel[1]; ++k)
              sum += in[0][static_cast<std::size_t>((n * x[1] + step) * x[2] + first + k)] *
                     in[1][static_cast<std::size_t>((tap * kernel[1] + k) * kernel[2] + out)];
          }
          y.push_back(sum);
        }
    return y;
  };
  OpCase result{.name = fmt::format("conv1d of {} by {}, {}", x, kernel, padding),
                .inputs = {random_tensor(x, 1), random_tensor(kernel, 2)},
                .run = [=](In in) { return conv1d(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), options); },
                .reference = reference,
                .check = {.length = std::max(kernel[0] * std::max(kernel[1], kernel[2]), x[0] * x[1])},
                .bf16 = Bf16::data,
                .optional = bias ? 1U : 0U,
                .same_bits_on_any_threads = false};
  if (bias) result.inputs.push_back(random_tensor({kernel[2]}, 3));
  return result;
}

/// The size of a transposed convolution's result along an axis, and how many elements before it are cut off, by the
/// formulas that Keras has for JAX (compute_conv_transpose_padding_args_for_jax): there the inputs, with zeros between
/// them, get a border on both sides, over which the window then slides.
Extent transposed_extent(std::int64_t input, std::int64_t taps, std::int64_t dilation, std::int64_t stride,
                         Padding padding, std::optional<std::int64_t> output_padding) {
  const std::int64_t reach = (taps - 1) * dilation + 1;
  std::int64_t before = reach - 1;
  std::int64_t after = reach - 1 + output_padding.value_or(std::max(reach, stride) - reach);
  if (padding == Padding::same) {
    const std::int64_t both = output_padding ? reach + reach % 2 - 2 + *output_padding : stride + reach - 2;
    before = std::min(both / 2 + both % 2, reach - 1);
    after = both - before;
  }
  return {(input - 1) * stride + 1 + before + after - (reach - 1), reach - 1 - before};
}

/// conv2d_transpose of x (n, h, w, channels) by a kernel (h, w, filters, channels).
OpCase transposed_case(const char* what, const Shape& x, const Shape& kernel, const Conv2dTransposeOptions& options,
                       bool bias) {
  const std::optional<Size2d> added = options.output_padding;
  const Extent rows = transposed_extent(x[1], kernel[0], options.dilation.height, options.strides.height,
                                        options.padding, added ? std::optional(added->height) : std::nullopt);
  const Extent columns = transposed_extent(x[2], kernel[1], options.dilation.width, options.strides.width,
                                           options.padding, added ? std::optional(added->width) : std::nullopt);
  const Shape result{x[0], rows.size, columns.size, kernel[2]};
  const auto reference = [=](const Values& in) {
    std::vector<double> y(static_cast<std::size_t>(result.elements()));
    for_each_place(x, [&](const Shape& from) {
      const double value = in[0][static_cast<std::size_t>(number_of(from, x))];
      for_each_place({kernel[0], kernel[1], kernel[2]}, [&](const Shape& tap) {
        const std::int64_t row = from[1] * options.strides.height + tap[0] * options.dilation.height - rows.pad;
        const std::int64_t column = from[2] * options.strides.width + tap[1] * options.dilation.width - columns.pad;
        if (row < 0 || row >= result[1] || column < 0 || column >= result[2]) return;
        y[static_cast<std::size_t>(number_of({from[0], row, column, tap[2]}, result))] +=
            value * in[1][static_cast<std::size_t>(number_of({tap[0], tap[1], tap[2], from[3]}, kernel))];
      });
    });
    for (std::size_t i = 0; in.size() > 2 && i < y.size(); ++i) y[i] += in[2][i % in[2].size()];
    return options.activation == Activation::relu ? relu_of(y) : y;
  };
  const std::int64_t taps = kernel[0] * kernel[1] * std::max(kernel[2], kernel[3]);
  const bool reaches_all = kernel[0] >= options.strides.height && kernel[1] >= options.strides.width && !added;
  OpCase op{.name = fmt::format("conv2d_transpose of {} by {}, {}", x, kernel, what),
            .inputs = {random_tensor(x, 1), random_tensor(kernel, 2)},
            .run = [=](In in) { return conv2d_transpose(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), options); },
            .reference = reference,
            .check = {.length = std::max(taps, result.elements() / kernel[2])},
            .bf16 = Bf16::data,
            .nan_spreads = reaches_all,
            .optional = bias ? 1U : 0U,
            .same_bits_on_any_threads = false};
  const bool relu = options.activation == Activation::relu;
  if (bias) op.inputs.push_back(relu ? bias_far_from_0(kernel[2], taps) : random_tensor({kernel[2]}, 3));
  return op;
}

/// conv1d_transpose of x (n, steps, channels) by a kernel (k, filters, channels).
OpCase transposed_1d_case(const char* what, const Shape& x, const Shape& kernel, const Conv1dTransposeOptions& options,
                          bool bias) {
  Conv2dTransposeOptions of_images{.strides = {1, options.stride}, .padding = options.padding};
  of_images.dilation = {1, options.dilation};
  if (options.output_padding) of_images.output_padding = Size2d{0, *options.output_padding};
  OpCase op = transposed_case(what, {x[0], 1, x[1], x[2]}, {1, kernel[0], kernel[1], kernel[2]}, of_images, bias);
  op.name = fmt::format("conv1d_transpose of {} by {}, {}", x, kernel, what);
  op.inputs[0] = op.inputs[0].view(x);
  op.inputs[1] = op.inputs[1].view(kernel);
  op.run = [=](In in) { return conv1d_transpose(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), options); };
  return op;
}

std::vector<OpCase> transposed_cases() {
  std::vector<OpCase> cases{
      transposed_case("valid", {2, 3, 4, 3}, {3, 3, 4, 3}, {}, true),
      transposed_case("same", {2, 3, 4, 3}, {3, 2, 5, 3}, {.strides = {2, 3}, .padding = Padding::same}, true),
      transposed_case("even taps", {1, 3, 3, 2}, {4, 4, 3, 2}, {.padding = Padding::same}, false),
      transposed_case("strides above the window", {2, 3, 2, 3}, {2, 2, 4, 3}, {.strides = {3, 2}}, true),
      transposed_case("dilated", {1, 4, 3, 2}, {3, 2, 3, 2}, {.padding = Padding::same, .dilation = {2, 3}}, true),
      transposed_case("added", {1, 3, 4, 2}, {3, 3, 2, 2}, {.strides = 2, .output_padding = Size2d{1, 0}}, false),
      transposed_case("added to even taps", {2, 3, 4, 2}, {4, 2, 3, 2},
                      {.strides = {3, 2}, .padding = Padding::same, .output_padding = Size2d{2, 0}}, true),
      transposed_case("single taps", {2, 3, 3, 4}, {1, 1, 3, 4}, {.strides = {2, 1}, .padding = Padding::same}, true),
      transposed_case("relu", {2, 3, 3, 4}, {2, 2, 3, 4}, {.activation = Activation::relu}, true),
      transposed_1d_case("valid", {2, 5, 3}, {3, 4, 3}, {.stride = 2}, true),
      transposed_1d_case("same", {2, 4, 3}, {4, 2, 3}, {.stride = 3, .padding = Padding::same, .output_padding = 1},
                         false),
      transposed_1d_case("dilated", {1, 6, 2}, {3, 3, 2}, {.padding = Padding::same, .dilation = 2}, true),
      // Computed with Winograd's filtering on the CPU.
      transposed_case("large", {1, 8, 8, 16}, {3, 3, 16, 16}, {.padding = Padding::same}, true)};
  cases.back() = large(cases.back(), 3);
  return cases;
}

}  // namespace

const std::vector<Conv2dCase>& conv2d_cases() {
  static const auto& all = *new std::vector<Conv2dCase>{
      {{2, 5, 6, 3}, {3, 3, 3, 4}, {}},
      {{2, 5, 6, 16}, {3, 3, 16, 8}, {.padding = Padding::same}},
      {{1, 7, 7, 17}, {3, 2, 17, 5}, {.strides = {2, 1}, .padding = Padding::same}},
      {{3, 6, 6, 5}, {2, 2, 5, 17}, {.strides = {2, 2}, .padding = Padding::valid}, false},
      {{3, 4, 4, 1}, {4, 4, 1, 1}, {.padding = Padding::same}},
      {{2, 1, 1, 8}, {1, 1, 8, 24}, {}},
      {{3, 5, 6, 7}, {1, 1, 7, 20}, {}},
      {{2, 7, 6, 5}, {1, 1, 5, 4}, {.strides = {2, 3}}},
      {{2, 1, 1, 3}, {3, 3, 3, 3}, {.padding = Padding::same}},
      {{1, 9, 7, 3}, {2, 1, 3, 16}, {.strides = {3, 4}, .padding = Padding::valid}},
      {{1, 7, 7, 2}, {1, 1, 2, 3}, {.strides = {3, 3}, .padding = Padding::same}},
      {{2, 9, 8, 3}, {3, 3, 3, 4}, {.dilation = {2, 3}}},
      {{1, 6, 7, 5}, {3, 2, 5, 3}, {.padding = Padding::same, .dilation = {3, 2}}, false},
      {{2, 6, 5, 6}, {3, 3, 3, 4}, {.padding = Padding::same, .groups = 2}},
      {{2, 7, 5, 9}, {2, 3, 3, 6}, {.strides = {2, 1}, .groups = 3}, false},
      {{2, 6, 5, 16}, {3, 3, 1, 16}, {.padding = Padding::same, .groups = 16}},
      {{2, 5, 6, 8}, {3, 3, 1, 24}, {.strides = {2, 2}, .padding = Padding::same, .groups = 8}},
      {{1, 7, 7, 5}, {3, 3, 1, 5}, {.dilation = {2, 2}, .groups = 5}},
      // Computed with Winograd's filtering on the CPU: 4x4 tiles that fit and that overhang, and more than one block of
      // them.
      {{1, 8, 8, 16}, {3, 3, 16, 32}, {.padding = Padding::same}},
      {{2, 7, 10, 32}, {3, 3, 32, 16}, {.padding = Padding::valid}, false},
      {{1, 4, 5, 16}, {3, 3, 16, 16}, {}},
      {{5, 13, 15, 16}, {3, 3, 16, 16}, {.padding = Padding::same}},
      // Channel counts that the bf16 kernels support.
      {{2, 9, 8, 32}, {3, 3, 32, 48}, {.padding = Padding::same}},
      {{4, 17, 16, 32}, {3, 3, 32, 48}, {.padding = Padding::same, .activation = Activation::relu}},
      {{2, 9, 8, 3}, {3, 3, 3, 16}, {.activation = Activation::relu}},
      {{2, 7, 7, 24}, {1, 1, 24, 40}, {}},
      {{2, 9, 8, 16}, {5, 5, 16, 16}, {.strides = {2, 2}, .padding = Padding::same}},
      {{2, 9, 8, 16}, {3, 3, 16, 16}, {.dilation = {2, 2}}},
      {{2, 9, 8, 32}, {3, 3, 1, 32}, {.padding = Padding::same, .groups = 32}},
      {{2, 9, 8, 16}, {3, 3, 8, 32}, {.padding = Padding::same, .groups = 2}},
  };
  return all;
}

std::vector<OpCase> convolution_cases() {
  std::vector<OpCase> cases{depthwise_case()};
  for (const Conv2dCase& c : conv2d_cases()) {
    cases.push_back(case_of(c));
    cases.back().is_large = cases.size() > 3;
    if (c.x.elements() > 10'000) cases.back().check.samples = 0;
  }
  for (const ActivationCase& activation : activations_of_elements()) cases.push_back(activated_case(activation));
  cases.push_back(conv1d_case("valid", {2, 9, 4}, {3, 4, 5}, {.stride = 2}, true));
  cases.push_back(conv1d_case("same", {2, 7, 6}, {4, 3, 4}, {.padding = Padding1d::same, .groups = 2}, false));
  cases.push_back(conv1d_case("causal", {3, 8, 2}, {3, 2, 3}, {.padding = Padding1d::causal, .dilation = 2}, true));
  cases.push_back(
      conv1d_case("causal strided", {2, 5, 2}, {4, 2, 3}, {.stride = 2, .padding = Padding1d::causal}, false));
  std::ranges::move(transposed_cases(), std::back_inserter(cases));
  return cases;
}

}  // namespace lockstep::test
