// Checks recurrent layers, called in cuDNN as the library calls them: the positions of their weights, and that cuDNN's
// formulas are Keras'.

#include <algorithm>
#include <cmath>

#include <lockstep/kernels/cuda/cudnn_handle.h>
#include <lockstep/kernels/cuda/recurrence_plan.h>

#include "array.h"
#include "check.h"

namespace lockstep::smoke {
namespace {

using cudnn::RecurrencePlan;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Computes the layer by its definition in f64, with the weights at the positions that the plan reports.
class Reference {
 public:
  Reference(const RecurrentLayer& layer, const cudnn::LinearLayers& places) : layer_(layer), places_(places) {}

  /// Computes y (time, n, units) from x (time, n, features).
  std::vector<double> forward(const std::vector<double>& x, const std::vector<double>& weights) const {
    std::vector<double> y(static_cast<std::size_t>(layer_.n * layer_.time * layer_.units));
    for (std::int64_t row = 0; row < layer_.n; ++row) {
      const auto units = static_cast<std::size_t>(layer_.units);
      std::vector<double> h(units);
      std::vector<double> c(units);
      for (std::int64_t time = 0; time < layer_.time; ++time) {
        const std::int64_t at = time * layer_.n + row;
        const double* const input = x.data() + at * layer_.features;
        h = layer_.cell == RecurrentCell::lstm ? lstm_step(input, weights, h, c) : gru_step(input, weights, h);
        std::ranges::copy(h, y.begin() + at * layer_.units);
      }
    }
    return y;
  }

 private:
  /// Output for one unit of linear layer `number`, in cuDNN's numbering.
  double linear(std::int64_t number, std::int64_t unit, const double* input, const std::vector<double>& weights) const {
    const cudnn::LinearLayer& place = places_.at(static_cast<std::size_t>(number));
    const std::int64_t inputs = cudnn::inputs_of(layer_, number);
    const double* const row = weights.data() + place.matrix + unit * inputs;
    double sum = weights[static_cast<std::size_t>(place.bias + unit)];
    for (std::int64_t i = 0; i < inputs; ++i) sum += row[i] * input[i];
    return sum;
  }
  /// cuDNN's order of the gates: i, f, c, o.
  std::vector<double> lstm_step(const double* x, const std::vector<double>& weights, const std::vector<double>& h,
                                std::vector<double>& c) const {
    std::vector<double> next(h.size());
    for (std::int64_t unit = 0; unit < layer_.units; ++unit) {
      const auto sum = [&](std::int64_t gate) {
        return linear(gate, unit, x, weights) + linear(gate + 4, unit, h.data(), weights);
      };
      double& cell = c[static_cast<std::size_t>(unit)];
      cell = sigmoid(sum(1)) * cell + sigmoid(sum(0)) * std::tanh(sum(2));
      next[static_cast<std::size_t>(unit)] = sigmoid(sum(3)) * std::tanh(cell);
    }
    return next;
  }
  /// cuDNN's order of the gates: r, z, h.
  std::vector<double> gru_step(const double* x, const std::vector<double>& weights,
                               const std::vector<double>& h) const {
    std::vector<double> next(h.size());
    for (std::int64_t unit = 0; unit < layer_.units; ++unit) {
      const auto of_x = [&](std::int64_t gate) { return linear(gate, unit, x, weights); };
      const auto of_h = [&](std::int64_t gate) { return linear(gate + 3, unit, h.data(), weights); };
      const double r = sigmoid(of_x(0) + of_h(0));
      const double z = sigmoid(of_x(1) + of_h(1));
      const double candidate = std::tanh(of_x(2) + r * of_h(2));
      next[static_cast<std::size_t>(unit)] = (1 - z) * candidate + z * h[static_cast<std::size_t>(unit)];
    }
    return next;
  }

  const RecurrentLayer& layer_;
  const cudnn::LinearLayers& places_;
};

/// The gradient of sum(dy * f(values)), by central differences.
template <class F>
std::vector<double> gradient(std::vector<double> values, const std::vector<double>& dy, const F& f) {
  constexpr double step = 1e-5;
  std::vector<double> result;
  for (double& value : values) {
    const double here = value;
    double difference = 0;
    for (const double sign : {1.0, -1.0}) {
      value = here + sign * step;
      const std::vector<double> y = f(values);
      for (std::size_t i = 0; i < y.size(); ++i) difference += sign * dy[i] * y[i];
    }
    value = here;
    result.push_back(difference / (2 * step));
  }
  return result;
}

std::string see_layer(const RecurrentLayer& layer) {
  constexpr double tolerance = 1e-5;
  const Stream stream;
  cudnnHandle_t handle = nullptr;
  cudnn::check(cudnnCreate(&handle), "cudnnCreate");
  cudnn::check(cudnnSetStream(handle, stream.get()), "cudnnSetStream");
  RecurrencePlan plan(layer);
  plan.lay_out(handle);

  const std::int64_t steps = layer.n * layer.time;
  const auto bytes = [](std::int64_t size) {
    return Array<unsigned char>(std::vector<unsigned char>(static_cast<std::size_t>(size) + 1, 0));
  };
  const std::vector<float> x = eighths<float>(steps * layer.features, 1);
  const std::vector<float> dy = eighths<float>(steps * layer.units, 2);
  const std::vector<float> weights = eighths<float>(plan.weight_bytes() / 4, 3);
  const Array<float> gpu_x(x);
  const Array<float> gpu_dy(dy);
  const Array<float> gpu_weights(weights);
  const Array<float> y(std::vector<float>(dy.size(), -1));
  const Array<float> dx(std::vector<float>(x.size(), -1));
  const Array<float> dweights(std::vector<float>(weights.size(), 0));
  const auto work = bytes(plan.work_bytes(CUDNN_FWD_MODE_TRAINING));
  const auto reserve = bytes(plan.reserve_bytes());
  RecurrencePlan::Operands operands{.x = gpu_x.get(), .y = y.get(), .weights = gpu_weights.get(), .work = work.get()};

  const Reference reference(layer, plan.places());
  const std::vector<double> expected_y = reference.forward(as_double(x), as_double(weights));
  plan.forward(handle, operands);
  const std::string inferred = compared(as_double(y.values()), expected_y, tolerance);
  operands.reserve = reserve.get();
  plan.forward(handle, operands);
  const std::string trained = compared(as_double(y.values()), expected_y, tolerance);

  plan.gradient_x(handle, operands, gpu_dy.get(), dx.get());
  const auto expected_dx = gradient(as_double(x), as_double(dy), [&](const std::vector<double>& values) {
    return reference.forward(values, as_double(weights));
  });
  const std::string of_x = compared(as_double(dx.values()), expected_dx, tolerance);
  operands.weights = dweights.get();
  plan.gradient_weights(handle, operands);
  const auto expected_dweights = gradient(as_double(weights), as_double(dy), [&](const std::vector<double>& values) {
    return reference.forward(as_double(x), values);
  });
  const std::string of_weights = compared(as_double(dweights.values()), expected_dweights, tolerance);
  cudnn::check(cudnnDestroy(handle), "cudnnDestroy");
  return fmt::format("y: {}, in training: {}; dx: {}; dweights: {}", inferred, trained, of_x, of_weights);
}

}  // namespace

std::vector<Check> recurrence_checks() {
  return {{"cudnn_lstm",
           [] {
             return see_layer({RecurrentCell::lstm, 3, 4, 5, 6});
           }},
          {"cudnn_gru", [] {
             return see_layer({RecurrentCell::gru, 3, 4, 5, 6});
           }}};
}

}  // namespace lockstep::smoke
