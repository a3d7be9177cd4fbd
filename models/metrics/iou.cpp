#include "lockstep/models/metrics/iou.h"

#include <cmath>
#include <numeric>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/reduction/reduction.h>
#include <lockstep/models/losses/by_example.h>

namespace lockstep {
namespace {

using Classes = std::vector<double>;

/// A tensor of classes: x itself if `sparse`, else the index of the largest element along the last axis.
Tensor class_tensor(const Tensor& x, bool sparse) {
  return sparse ? x : argmax(x.dtype() == DType::f32 ? x : cast(x, DType::f32), -1);
}

Classes classes_in(const Tensor& x) {
  Classes classes = x.to_vector<double>();
  for (double& value : classes) value = std::trunc(value);
  return classes;
}

/// The weights of the hits of all classes, then of their predictions, then of their targets.
Metric::Sums count(const Classes& truths, const Classes& predictions, std::span<const double> weights,
                   const IoUOptions& options) {
  const auto classes = static_cast<std::size_t>(options.num_classes);
  const auto is_class = [&](double value) { return value >= 0 && value < options.num_classes; };
  Metric::Sums sums(3 * classes);
  for (std::size_t i = 0; i < truths.size(); ++i) {
    const bool ignored = options.ignore_class && truths[i] == *options.ignore_class;
    if (ignored || !is_class(truths[i]) || !is_class(predictions[i])) continue;
    const double weight = weights[i * weights.size() / truths.size()];
    const auto predicted = static_cast<std::size_t>(predictions[i]);
    const auto truth = static_cast<std::size_t>(truths[i]);
    if (predicted == truth) sums[truth] += weight;
    sums[classes + predicted] += weight;
    sums[2 * classes + truth] += weight;
  }
  return sums;
}

double mean_iou(const Metric::Sums& sums, const std::vector<std::int64_t>& target_class_ids) {
  const std::size_t classes = sums.size() / 3;
  double total = 0;
  double present = 0;
  for (const std::int64_t id : target_class_ids) {
    const auto k = static_cast<std::size_t>(id);
    const double joined = sums[classes + k] + sums[2 * classes + k] - sums[k];
    if (joined <= 1e-9) continue;
    total += sums[k] / (joined + keras_epsilon);
    ++present;
  }
  return total / (present + keras_epsilon);
}

void check_number(int num_classes) {
  constexpr int most = 1 << 16;  // the number of classes of a 16-bit label image
  require(num_classes >= 1 && num_classes <= most, "IoU needs at least 1 class and at most {}, got {}", most,
          num_classes);
}

void check(const IoUOptions& options) {
  check_number(options.num_classes);
  require(!options.target_class_ids.empty(), "IoU needs a target class at least, got none");
  for (const std::int64_t id : options.target_class_ids)
    require(id >= 0 && id < options.num_classes, "IoU: target class {} is not one of {} classes", id,
            options.num_classes);
}

/// A rule for predictions that `prepare` first maps to the form that the options describe.
template <class Prepare>
Metric::Rule rule(const IoUOptions& options, const ObjectConfig& config, const Prepare& prepare) {
  check(options);
  return {.update =
              [options, prepare](const Tensor& y_true, const Tensor& y_pred, std::span<const double> weights) {
                require(y_true.defined() && y_true.rank() >= 1 && y_true.dim(0) == y_pred.dim(0),
                        "IoU needs as many targets as predictions along the first axis, got {} and {}", y_true, y_pred);
                const Tensor truths = class_tensor(y_true, options.sparse_y_true);
                const Tensor predictions = class_tensor(prepare(y_pred), options.sparse_y_pred);
                require(has_shape_of_targets(truths, predictions.shape()),
                        "IoU needs target classes of the shape of the predicted ones, got {} in {} and {} in {}",
                        truths.shape(), y_true, predictions.shape(), y_pred);
                return count(classes_in(truths), classes_in(predictions), weights, options);
              },
          .result = [ids = options.target_class_ids](const Metric::Sums& sums) { return mean_iou(sums, ids); },
          .direction = Direction::up,
          .config = config};
}

Metric::Rule rule(const IoUOptions& options, const ObjectConfig& config) {
  return rule(options, config, [](const Tensor& y_pred) { return y_pred; });
}

std::vector<std::int64_t> all_of(int num_classes) {
  check_number(num_classes);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(num_classes));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

}  // namespace

void IoUOptions::describe(OptionVisitor& visitor) {
  visitor.fixed_unwritten("axis", -1.0);
  visitor.option("num_classes", num_classes);
  visitor.option("target_class_ids", target_class_ids);
  visitor.option("ignore_class", ignore_class);
  visitor.option("sparse_y_true", sparse_y_true);
  visitor.option("sparse_y_pred", sparse_y_pred);
}

void BinaryIoUOptions::describe(OptionVisitor& visitor) {
  visitor.fixed_unwritten("axis", -1.0);
  visitor.option("target_class_ids", target_class_ids);
  visitor.option("threshold", threshold);
}

void MeanIoUOptions::describe(OptionVisitor& visitor) {
  visitor.fixed_unwritten("axis", -1.0);
  visitor.option("num_classes", num_classes);
  visitor.option("ignore_class", ignore_class);
  visitor.option("sparse_y_true", sparse_y_true);
  visitor.option("sparse_y_pred", sparse_y_pred);
}

void OneHotIoUOptions::describe(OptionVisitor& visitor) {
  visitor.fixed_unwritten("axis", -1.0);
  visitor.option("num_classes", num_classes);
  visitor.option("target_class_ids", target_class_ids);
  visitor.option("ignore_class", ignore_class);
  visitor.option("sparse_y_pred", sparse_y_pred);
}

void OneHotMeanIoUOptions::describe(OptionVisitor& visitor) {
  visitor.fixed_unwritten("axis", -1.0);
  visitor.option("num_classes", num_classes);
  visitor.option("ignore_class", ignore_class);
  visitor.option("sparse_y_pred", sparse_y_pred);
}

IoU::IoU(const IoUOptions& options) : Metric("io_u", rule(options, config_of("IoU", options))) {}

BinaryIoU::BinaryIoU(const BinaryIoUOptions& options)
    : Metric("binary_io_u",
             rule({.num_classes = 2, .target_class_ids = options.target_class_ids}, config_of("BinaryIoU", options),
                  [threshold = options.threshold](const Tensor& y_pred) { return greater_equal(y_pred, threshold); })) {
}

MeanIoU::MeanIoU(const MeanIoUOptions& options)
    : Metric("mean_io_u", rule({.num_classes = options.num_classes,
                                .target_class_ids = all_of(options.num_classes),
                                .ignore_class = options.ignore_class,
                                .sparse_y_true = options.sparse_y_true,
                                .sparse_y_pred = options.sparse_y_pred},
                               config_of("MeanIoU", options))) {}

OneHotIoU::OneHotIoU(const OneHotIoUOptions& options)
    : Metric("one_hot_io_u", rule({.num_classes = options.num_classes,
                                   .target_class_ids = options.target_class_ids,
                                   .ignore_class = options.ignore_class,
                                   .sparse_y_true = false,
                                   .sparse_y_pred = options.sparse_y_pred},
                                  config_of("OneHotIoU", options))) {}

OneHotMeanIoU::OneHotMeanIoU(const OneHotMeanIoUOptions& options)
    : Metric("one_hot_mean_io_u", rule({.num_classes = options.num_classes,
                                        .target_class_ids = all_of(options.num_classes),
                                        .ignore_class = options.ignore_class,
                                        .sparse_y_true = false,
                                        .sparse_y_pred = options.sparse_y_pred},
                                       config_of("OneHotMeanIoU", options))) {}

}  // namespace lockstep
