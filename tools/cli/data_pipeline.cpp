#include "data_pipeline.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include <lockstep/models/data/image_augmentation.h>

namespace lockstep::cli {
namespace {

constexpr std::int64_t batches_ahead = 2;
constexpr double largest_shift = 0.1;  ///< of --augment, as a fraction of the width and of the height

constexpr std::array rescalings{
    Rescaling{"none", "values as they are", {}}, Rescaling{"zero-to-one", "values / 255", {.scale = 1 / 255.0F}},
    Rescaling{"minus-one-to-one", "values / 127.5 - 1", {.scale = 1 / 127.5F, .offset = -1}}};

/// As Keras' Input of the default dtype, which converts integers to f32.
Example with_f32(const Example& rows) {
  return rows.with_x(Tensor::from(rows.x().to_vector<float>(), rows.x().shape()));
}

}  // namespace

std::vector<std::string> rescaling_names() {
  std::vector<std::string> names;
  for (const Rescaling& each : rescalings) names.emplace_back(each.name);
  return names;
}

const Rescaling& rescaling_named(const std::string& name) {
  return *std::ranges::find_if(rescalings, [&](const Rescaling& each) { return each.name == name; });
}

std::string text_of(const Rescaling& chosen) { return fmt::format("{} (--rescaling {})", chosen.formula, chosen.name); }

RowTransform preparation_of(const Rescaling& chosen, DType dtype) {
  if (dtype == DType::f32 && chosen.options.scale == 1) return RowTransform([](const Example& rows) { return rows; });
  const RowTransform rescale = rescaling(chosen.options);
  if (dtype == DType::f32 || dtype == DType::u8) return rescale;
  return RowTransform([rescale](const Example& rows) { return rescale(with_f32(rows)); });
}

Dataset training_batches(Dataset data, const std::optional<RowTransform>& prepare, const DataOptions& options) {
  if (options.shuffle) data = data.shuffle({.seed = options.seed});
  if (options.augment)
    data = data.map(image_augmentation({.width_shift_range = largest_shift,
                                        .height_shift_range = largest_shift,
                                        .horizontal_flip = true,
                                        .seed = options.seed}));
  data = data.batch(options.batch_size, options.drop_remainder);
  return prepare ? data.map(*prepare).prefetch(batches_ahead) : data;
}

Dataset test_batches(const Dataset& data, const RowTransform& prepare, const DataOptions& options) {
  return data.batch(options.batch_size).map(prepare).prefetch(batches_ahead);
}

Dataset limited(const Dataset& data, const std::optional<std::int64_t>& limit) {
  return limit ? data.take(*limit) : data;
}

std::int64_t count_of(const Dataset& data) { return data.size().value_or(0); }

}  // namespace lockstep::cli
