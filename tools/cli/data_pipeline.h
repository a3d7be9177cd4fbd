#pragma once

#include <optional>
#include <string>
#include <vector>

#include <lockstep/models/data/normalization.h>

#include "data_source.h"

// Stages that the data of every source pass through.

namespace lockstep::cli {

/// A choice of --rescaling.
struct Rescaling {
  const char* name;
  const char* formula;
  RescalingOptions options;
};

/// The choices of --rescaling.
std::vector<std::string> rescaling_names();
/// Precondition: `name` is one of rescaling_names().
const Rescaling& rescaling_named(const std::string& name);
/// Describes the rescaling, for TrainingData::preparation.
std::string text_of(const Rescaling& chosen);
/// Converts x of `dtype` to f32 and rescales it.
RowTransform preparation_of(const Rescaling& chosen, DType dtype);

/// Shuffles the examples if options.shuffle is set, augments them if options.augment is set, batches them, and applies
/// `prepare`, if given, to whole batches.
Dataset training_batches(Dataset data, const std::optional<RowTransform>& prepare, const DataOptions& options);
/// Batches examples in their order and applies `prepare` to whole batches.
Dataset test_batches(const Dataset& data, const RowTransform& prepare, const DataOptions& options);

/// The first `limit` examples; all if `limit` is nullopt.
Dataset limited(const Dataset& data, const std::optional<std::int64_t>& limit);
/// The number of elements of a data set of known size.
std::int64_t count_of(const Dataset& data);

}  // namespace lockstep::cli
