// A transformer, trained over two replicas, forecasts the next 24 hours of a load from the last 48 hours, and is
// compared with forecasts that repeat the last hour and the last day.
//   forecaster [WEEKS [EPOCHS]]
// The program generates the load: a profile of the day that is lower on weekends, and a disturbance that fades slowly.
// The last fifth of the weeks is for testing. Writes forecaster.keras.

#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <lockstep/lockstep.h>

using namespace lockstep;

namespace {

constexpr std::int64_t past = 48, horizon = 24, width = 32;
constexpr int features = 5;

/// The features of each hour, of shape (weeks * 168, features): the load, and the phases of the hour in the day and in
/// the week.
Tensor made_load(std::int64_t weeks) {
  std::mt19937 generator(1);
  std::normal_distribution<double> noise(0, 0.15);
  std::vector<float> values;
  double disturbance = 0;
  for (std::int64_t hour = 0; hour < 168 * weeks; ++hour) {
    const double day = 2 * std::numbers::pi * static_cast<double>(hour) / 24;
    const double week = day / 7;
    const double level = hour % 168 < 120 ? 1 : 0.4;
    disturbance = 0.95 * disturbance + noise(generator);
    const double load = level * (std::sin(day - 2) + 0.5 * std::sin(2 * day)) + disturbance;
    for (const double value : {load, std::sin(day), std::cos(day), std::sin(week), std::cos(week)})
      values.push_back(static_cast<float>(value));
  }
  return Tensor::from(values, {168 * weeks, features});
}

/// x: the first `past` hours of a window; y: the load of the `horizon` hours after them.
Example split_window(const Example& window) {
  const Tensor future = slice(slice(window.x(), 0, past, past + horizon), 1, 0, 1);
  return {{slice(window.x(), 0, 0, past)}, {reshape(future, {horizon})}};
}

Symbol transformer_block(const Symbol& x) {
  const Symbol normalized = LayerNormalization()(x);
  const Symbol attended =
      Add()({x, MultiHeadAttention({.num_heads = 4, .key_dim = width / 4})(normalized, normalized)});
  const Symbol hidden = Dense({.units = 2 * width, .activation = Activation::gelu})(LayerNormalization()(attended));
  return Add()({attended, Dense({.units = width})(hidden)});
}

/// The mean absolute error of the forecast that repeats the last `hours` of the past.
double error_of_repeating(std::int64_t hours, const Dataset& batches) {
  MetricTracker error{MeanMetricWrapper(MeanAbsoluteError())};
  for (const Batch& batch : batches.epoch()) {
    const Tensor last = squeeze(slice(slice(batch.x(), 1, past - hours, past), 2, 0, 1), {2});  // (n, hours)
    error.update_state(batch.y(), tile(last, {1, horizon / hours}));
  }
  return error.result();
}

}  // namespace

int main(int argc, char** argv) try {
  const std::int64_t weeks = argc > 1 ? std::stoll(argv[1]) : 104;
  const int epochs = argc > 2 ? std::stoi(argv[2]) : 4;
  const Tensor load = made_load(weeks);
  const std::int64_t end_of_training = 168 * (weeks - weeks / 5);
  const auto windows = [&](const TimeSeriesOptions& part) {
    return timeseries_dataset_from_array(load, {}, past + horizon, part).map(split_window);
  };
  const Dataset train = windows({.end_index = end_of_training}).shuffle().batch(64).prefetch();
  const Dataset test = windows({.start_index = end_of_training}).batch(256);

  const MirroredStrategy strategy({"CPU:0", "CPU:1"});
  const auto scope = strategy.scope();
  const Symbol hours = Input({past, features});
  Symbol x = Dense({.units = width})(hours);
  for (int block = 0; block < 2; ++block) x = transformer_block(x);
  Model model(hours, Dense({.units = horizon})(Flatten()(LayerNormalization()(x))), {.name = "forecaster"});
  model.compile(Adam({.learning_rate = 1e-3}), MeanAbsoluteError());
  model.fit(train, {.epochs = epochs});

  fmt::print("mean absolute error: {:.3f}; repeating the last hour: {:.3f}, the last day: {:.3f}\n",
             model.evaluate(test).at("loss"), error_of_repeating(1, test), error_of_repeating(24, test));
  model.save("forecaster.keras");
} catch (const std::exception& error) {
  fmt::print(stderr, "forecaster: {}\n", error.what());
  return 1;
}
