#pragma once

#include <optional>
#include <string>

#include <lockstep/models/config/object_config.h>
#include <lockstep/runtime/tensor/tensor.h>

// Helpers of losses and metrics.

namespace lockstep {

/// keras.backend.epsilon().
inline constexpr double keras_epsilon = 1e-7;

/// Casts bf16 to f32; returns other dtypes unchanged.
Tensor as_f32(const Tensor& y_pred);

/// Whether y_true has this shape, which starts with the axis of examples. As in Keras, a last axis of size 1 may be
/// missing or additional: (n) fits (n, 1), and (n, time, 1) fits (n, time).
bool has_shape_of_targets(const Tensor& y_true, const Shape& shape);

/// y_true as f32 in the shape of y_pred. Throws InvalidArgument, naming `loss` and both shapes, for targets that do not
/// have this shape (has_shape_of_targets).
Tensor targets_like(const char* loss, const Tensor& y_true, const Tensor& y_pred);

/// Reshapes x (n, time, ...) to (n * time, ...), or to (n * time, 1) if x has no further axes.
Tensor steps_of(const Tensor& x);

/// Like steps_of, for predictions: reshapes also the logits of y_pred, if they are known, so that logits_of finds them
/// for the result.
Tensor predicted_steps(const Tensor& y_pred);

/// Whether the loss or metric works along the last axis only, i.e. its option `axis` is missing, -1 or [-1].
bool compares_last_axis(const ObjectConfig& config);

/// Checks that the loss or metric `name` can compare an output with this mask step by step. `config` is the config of a
/// loss or metric of Keras, and null for a custom one. Throws Unsupported for a mask that is not (n, time), and if
/// `config` has an axis other than the last one. Throws InvalidArgument for targets whose first axes are not (n, time).
/// The errors name the loss or metric.
void check_steps(const std::string& name, const ObjectConfig* config, const Tensor& y_true, const Tensor& mask);

/// The sum of x over all replicas; all of them must call this. Outside replicas, x itself. Not recorded by tapes.
Tensor sum_over_replicas(const Tensor& x);

/// (n, ...) -> (n): the mean over each example's elements.
Tensor mean_by_example(const Tensor& x);

/// The logits, as f32, from which `activation` computed the probabilities y_pred. Undefined if they are unknown, or if
/// a tape records only the probabilities.
Tensor logits_of(const char* activation, const Tensor& y_pred);

/// Returns targets * (1 - smoothing) + smoothing / classes.
Tensor smoothed(const Tensor& targets, double smoothing, double classes);

/// Throws InvalidArgument for a label_smoothing outside [0, 1].
void check_smoothing(double label_smoothing);

}  // namespace lockstep
