#include <algorithm>
#include <array>
#include <cmath>

#include <kernels/cases/op_case.h>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/normalization/batch_norm.h>
#include <lockstep/kernels/normalization/group_norm.h>
#include <lockstep/kernels/normalization/layer_norm.h>

namespace lockstep::test {
namespace {

constexpr float epsilon = 1e-3F;

struct Statistics {
  std::vector<double> mean, variance;
};

Statistics statistics_of_columns(const std::vector<double>& x, std::size_t columns) {
  const double rows = static_cast<double>(x.size() / columns);
  Statistics result{std::vector<double>(columns), std::vector<double>(columns)};
  for (std::size_t i = 0; i < x.size(); ++i) result.mean[i % columns] += x[i] / rows;
  for (std::size_t i = 0; i < x.size(); ++i)
    result.variance[i % columns] += std::pow(x[i] - result.mean[i % columns], 2) / rows;
  return result;
}

/// Normalizes input 0 with gamma and beta from inputs 1 and 2, and adds input 3, the residual, if there is one.
std::vector<double> normalized(const Values& in, const Statistics& s, bool relu) {
  const std::size_t channels = in[1].size();
  std::vector<double> y;
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    const std::size_t k = i % channels;
    const double scale = in[1][k] / std::sqrt(s.variance[k] + static_cast<double>(epsilon));
    double z = scale * (in[0][i] - s.mean[k]) + in[2][k];
    if (in.size() > 3) z += in[3][i];
    y.push_back(relu ? std::max(0.0, z) : z);
  }
  return y;
}

std::vector<double> layer_normalized(const Values& in) {
  const std::size_t n = in[1].size();
  std::vector<double> y;
  for (std::size_t row = 0; row < in[0].size(); row += n) {
    double mean = 0;
    double variance = 0;
    for (std::size_t i = 0; i < n; ++i) mean += in[0][row + i] / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) variance += std::pow(in[0][row + i] - mean, 2) / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i)
      y.push_back((in[0][row + i] - mean) / std::sqrt(variance + static_cast<double>(epsilon)) * in[1][i] + in[2][i]);
  }
  return y;
}

std::vector<Tensor> operands(const Shape& shape) {
  const Shape channels{shape.dim(-1)};
  return {random_tensor(shape, 1, -1, 3), random_tensor(channels, 2, 0.5, 1.5), random_tensor(channels, 3)};
}

OpCase batch_norm_case(const Shape& shape, bool relu) {
  const BatchNormOptions options{.epsilon = epsilon, .relu = relu};
  return {
      .name = fmt::format("batch_norm of {}{}", shape, relu ? " with relu" : ""),
      .inputs = operands(shape),
      .run = [=](In in) { return batch_norm(in[0], in[1], in[2], options).y; },
      .reference = [=](const Values& in) { return normalized(in, statistics_of_columns(in[0], in[1].size()), relu); },
      .check = {.length = shape.elements() / shape.dim(-1), .samples = shape.elements() > 10'000 ? 3 : 24},
      .bf16 = Bf16::data,
      .is_large = shape.elements() > 10'000};
}

/// The residual is input 1.
OpCase batch_norm_and_add_case(const Shape& shape, bool relu) {
  OpCase result = batch_norm_case(shape, relu);
  result.name = fmt::format("batch_norm and add of {}{}", shape, relu ? " with relu" : "");
  result.inputs.insert(result.inputs.begin() + 1, random_tensor(shape, 4, -1, 1));
  result.data = 2;
  result.optional_data = 1;
  result.run = [=](In in) {
    return batch_norm(in[0], in[2], in[3], {.epsilon = epsilon, .relu = relu, .residual = in[1]}).y;
  };
  result.reference = [=](const Values& in) {
    return normalized({in[0], in[2], in[3], in[1]}, statistics_of_columns(in[0], in[2].size()), relu);
  };
  return result;
}

/// The batch's other part has the same statistics.
OpCase batch_norm_of_parts_case() {
  OpCase result = batch_norm_case({4, 6}, false);
  result.name = "batch_norm of parts of a batch";
  result.run = [](In in) {
    const GatherRows twice = [](const Tensor& own) { return concatenate(std::array{own, own}, 0); };
    return batch_norm(in[0], in[1], in[2], {.epsilon = epsilon, .gather = twice}).y;
  };
  return result;
}

/// The mean or the variance that batch_norm used.
OpCase statistics_case(DType dtype, bool mean) {
  const std::vector<Tensor> all = operands({3, 4, 4, 5});
  return {.name = fmt::format("batch_norm of {}, its {}", name(dtype), mean ? "mean" : "variance"),
          .inputs = {cast(all[0], dtype)},
          .run =
              [=](In in) {
                const BatchNormResult result = batch_norm(in[0], all[1], all[2]);
                return mean ? result.mean : result.variance;
              },
          .reference =
              [=](const Values& in) {
                const Statistics s = statistics_of_columns(in[0], 5);
                return mean ? s.mean : s.variance;
              },
          .check = {.length = 48},
          .takes_no_rows = false,  // the statistics of no rows are 0
          .gives = DType::f32,
          .refuses = {DType::i32, DType::i64, DType::u8, DType::boolean}};
}

OpCase batch_norm_inference_case(bool relu) {
  const Shape shape{3, 4, 4, 5};
  const Tensor mean = random_tensor({5}, 7);
  const Tensor variance = random_tensor({5}, 8, 0.1, 2);
  return {.name = fmt::format("batch_norm_inference{}", relu ? " with relu" : ""),
          .inputs = operands(shape),
          .run =
              [=](In in) {
                return batch_norm_inference(in[0], in[1], in[2], mean, variance, {.epsilon = epsilon, .relu = relu});
              },
          .reference = [=, s = Statistics{mean.to_vector<double>(), variance.to_vector<double>()}](
                           const Values& in) { return normalized(in, s, relu); },
          .check = {.length = 3 * 4 * 4},
          .bf16 = Bf16::data};
}

OpCase layer_norm_case(const Shape& shape) {
  return {.name = fmt::format("layer_norm of {}", shape),
          .inputs = operands(shape),
          .run = [](In in) { return layer_norm(in[0], in[1], in[2], epsilon); },
          .reference = layer_normalized,
          // Gradients divide by the deviation, which may be small with few features: it is at least sqrt(epsilon).
          .check = {.length = std::max(shape.dim(-1), shape.elements() / shape.dim(-1)), .samples = 8},
          .takes_no_rows = shape.rank() > 1,
          .bf16 = Bf16::data,
          .is_large = shape.elements() > 10'000};
}

std::vector<double> group_normalized(const Values& in, const Shape& shape, std::size_t groups) {
  const std::size_t channels = in[1].size();
  const std::size_t width = channels / groups;
  const auto examples = static_cast<std::size_t>(shape[0]);
  const std::size_t places = in[0].size() / std::max<std::size_t>(1, examples * channels);
  std::vector<double> y(in[0].size());
  for (std::size_t example = 0; example < examples; ++example)
    for (std::size_t group = 0; group < groups; ++group) {
      std::vector<std::size_t> elements;
      for (std::size_t place = 0; place < places; ++place)
        for (std::size_t k = group * width; k < (group + 1) * width; ++k)
          elements.push_back((example * places + place) * channels + k);
      const auto count = static_cast<double>(elements.size());
      double mean = 0;
      double variance = 0;
      for (const std::size_t i : elements) mean += in[0][i] / count;
      for (const std::size_t i : elements) variance += std::pow(in[0][i] - mean, 2) / count;
      for (const std::size_t i : elements) {
        const std::size_t k = i % channels;
        y[i] = (in[0][i] - mean) / std::sqrt(variance + static_cast<double>(epsilon)) * in[1][k] + in[2][k];
      }
    }
  return y;
}

OpCase group_norm_case(const Shape& shape, std::int64_t groups) {
  const std::int64_t elements = shape.elements() / shape[0] / groups;
  return {.name = fmt::format("group_norm of {} in {} groups", shape, groups),
          .inputs = operands(shape),
          .run = [=](In in) { return group_norm(in[0], groups, in[1], in[2], epsilon); },
          .reference = [=](const Values& in) { return group_normalized(in, shape, static_cast<std::size_t>(groups)); },
          .check = {.length = std::max(elements, shape.elements() / shape.dim(-1)), .samples = 8},
          .takes_no_rows = true,
          .bf16 = Bf16::data,
          .is_large = shape.elements() > 10'000};
}

}  // namespace

std::vector<OpCase> normalization_cases() {
  std::vector<OpCase> cases{batch_norm_of_parts_case(), batch_norm_inference_case(false),
                            batch_norm_inference_case(true)};
  for (const bool relu : {false, true})
    for (const Shape& shape : {Shape{2, 3, 3, 1}, Shape{2, 3, 4, 3}, Shape{5, 5}, Shape{3, 2, 2, 17}, Shape{6, 1, 1, 8},
                               Shape{4, 2, 2, 16}, Shape{2, 5, 5, 40}, Shape{40, 20, 20, 2}, Shape{5, 31, 33, 7}})
      cases.push_back(batch_norm_case(shape, relu));
  for (const bool relu : {false, true})
    for (const Shape& shape : {Shape{2, 3, 4, 3}, Shape{4, 2, 2, 16}, Shape{5, 31, 33, 7}})
      cases.push_back(batch_norm_and_add_case(shape, relu));
  for (const Shape& shape : {Shape{7}, Shape{3, 1}, Shape{5, 17}, Shape{2, 3, 4, 9}, Shape{700, 40}})
    cases.push_back(layer_norm_case(shape));
  for (const auto& [shape, groups] : {std::pair(Shape{3, 6}, 2),
                                      {Shape{2, 5, 4}, 4},
                                      {Shape{2, 3, 4, 9}, 3},
                                      {Shape{1, 2, 2, 34}, 1},
                                      {Shape{2, 70, 600}, 4}})
    cases.push_back(group_norm_case(shape, groups));
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const bool mean : {false, true}) cases.push_back(statistics_case(dtype, mean));
  return cases;
}

}  // namespace lockstep::test
