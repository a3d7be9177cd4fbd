#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <lockstep/models/metrics/metric.h>
#include <lockstep/runtime/core/defaults.h>

// Intersection over union of a class: the weight of the elements whose target and prediction are this class, divided by
// the weight of the elements whose target or prediction is this class. A metric's value is the mean over the target
// classes that occur in targets or predictions. Sparse targets and predictions are class numbers, truncated to
// integers. Other targets and predictions have the classes along their last axis; the class is the index of the largest
// value. Elements whose target or prediction is not one of the classes are left out. Each element is weighted by its
// example's weight, which is not truncated, as in Keras for metrics of a floating-point dtype. (Keras' default dtype,
// int, truncates weights to integers.)

namespace lockstep {

/// IoU's options, with Keras' names.
struct IoUOptions {
  int num_classes = 0;                           ///< number of classes, from 1 to 2^16; required
  std::vector<std::int64_t> target_class_ids{};  ///< the classes that count; at least one
  std::optional<int> ignore_class{};             ///< elements with this target are left out
  bool sparse_y_true = true;                     ///< targets are class numbers
  bool sparse_y_pred = true;                     ///< predictions are class numbers
  void describe(OptionVisitor& visitor);         ///< writes or reads the options
};

/// BinaryIoU's options, with Keras' names.
struct BinaryIoUOptions {
  std::vector<std::int64_t> target_class_ids{0, 1};  ///< the classes that count; at least one
  double threshold = 0.5;                            ///< predictions of at least this are class 1, others class 0
  void describe(OptionVisitor& visitor);             ///< writes or reads the options
};

/// MeanIoU's options, with Keras' names.
struct MeanIoUOptions {
  int num_classes = 0;                    ///< number of classes, from 1 to 2^16; required
  std::optional<int> ignore_class{};      ///< elements with this target are left out
  bool sparse_y_true = true;              ///< targets are class numbers
  bool sparse_y_pred = true;              ///< predictions are class numbers
  void describe(OptionVisitor& visitor);  ///< writes or reads the options
};

/// OneHotIoU's options, with Keras' names.
struct OneHotIoUOptions {
  int num_classes = 0;                           ///< number of classes, from 1 to 2^16; required
  std::vector<std::int64_t> target_class_ids{};  ///< the classes that count; at least one
  std::optional<int> ignore_class{};             ///< elements with this target are left out
  bool sparse_y_pred = false;                    ///< predictions are class numbers
  void describe(OptionVisitor& visitor);         ///< writes or reads the options
};

/// OneHotMeanIoU's options, with Keras' names.
struct OneHotMeanIoUOptions {
  int num_classes = 0;                    ///< number of classes, from 1 to 2^16; required
  std::optional<int> ignore_class{};      ///< elements with this target are left out
  bool sparse_y_pred = false;             ///< predictions are class numbers
  void describe(OptionVisitor& visitor);  ///< writes or reads the options
};

/// The mean IoU of the target classes.
struct IoU : Metric {
  /// Named "io_u". Throws InvalidArgument for a number of classes outside [1, 2^16], without target classes, and
  /// for a target class outside the classes.
  explicit IoU(const IoUOptions& options);
};
/// The mean IoU of the target classes, 0 and 1 by default, for predictions that are probabilities of class 1.
struct BinaryIoU : Metric {
  /// Named "binary_io_u". Throws InvalidArgument without target classes, and for a target class other than 0 and 1.
  explicit BinaryIoU(const BinaryIoUOptions& options = {});
  /// Makes `BinaryIoU({})` use the default options.
  explicit BinaryIoU(Defaults) : BinaryIoU() {}
};
/// The mean IoU of all classes.
struct MeanIoU : Metric {
  /// Named "mean_io_u". Throws InvalidArgument for a number of classes outside [1, 2^16].
  explicit MeanIoU(const MeanIoUOptions& options);
};
/// The metric IoU for one-hot targets.
struct OneHotIoU : Metric {
  /// Named "one_hot_io_u". Throws InvalidArgument in the same cases as IoU.
  explicit OneHotIoU(const OneHotIoUOptions& options);
};
/// The metric MeanIoU for one-hot targets.
struct OneHotMeanIoU : Metric {
  /// Named "one_hot_mean_io_u". Throws InvalidArgument for a number of classes outside [1, 2^16].
  explicit OneHotMeanIoU(const OneHotMeanIoUOptions& options);
};

}  // namespace lockstep
