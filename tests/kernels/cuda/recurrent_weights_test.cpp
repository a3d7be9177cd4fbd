// Computes recurrent layers from their cuDNN descriptors with the formulas of cuDNN's documentation, and compares them
// with the CPU's ops.

#include <cmath>

#include <gtest/gtest.h>
#include <support/gradient_check.h>

#include <lockstep/kernels/cuda/recurrent_weights.h>
#include <lockstep/kernels/recurrence/gru.h>
#include <lockstep/kernels/recurrence/lstm.h>

namespace lockstep::test {
namespace {

using cudnn::LinearLayers;
using Values = std::vector<double>;

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Weights at unusual positions, with gaps: only the positions that cuDNN reports may matter.
LinearLayers scattered(const RecurrentLayer& layer) {
  LinearLayers places(index(2 * layer.gates()));
  std::int64_t end = 3;
  for (std::int64_t number = 2 * layer.gates() - 1; number >= 0; --number) {
    cudnn::LinearLayer& place = places[index(number)];
    place.bias = end;
    end += layer.units + 1;
    place.matrix = end;
    end += layer.units * cudnn::inputs_of(layer, number) + 2;
  }
  return places;
}

std::int64_t size_of_space(const RecurrentLayer& layer) {
  return scattered(layer)[0].matrix + layer.units * layer.features + 2;
}

/// cudnnRNNForward in cuDNN's terms: numbered linear layers, one direction, initial states of 0.
class DocumentedRecurrence {
 public:
  explicit DocumentedRecurrence(const RecurrentLayer& layer) : layer_(layer), places_(scattered(layer)) {}

  /// Computes y from x and the weight space.
  Values run(const Values& x, const Values& space) const {
    Values y;
    for (std::int64_t row = 0; row < layer_.n; ++row) {
      Values h(index(layer_.units), 0);
      Values c = h;
      for (std::int64_t s = 0; s < layer_.time; ++s) {
        const auto begin = x.begin() + (row * layer_.time + s) * layer_.features;
        const Values input(begin, begin + layer_.features);
        const Values before = h;
        for (std::int64_t u = 0; u < layer_.units; ++u) {
          const auto of = [&](std::int64_t number) {
            return linear(space, number, number < layer_.gates() ? input : before, u);
          };
          h[index(u)] =
              layer_.cell == RecurrentCell::lstm ? lstm_unit(of, c[index(u)]) : gru_unit(of, before[index(u)]);
        }
        y.insert(y.end(), h.begin(), h.end());
      }
    }
    return y;
  }

 private:
  /// W x + b for unit `u`.
  double linear(const Values& space, std::int64_t number, const Values& x, std::int64_t u) const {
    const cudnn::LinearLayer& place = places_[index(number)];
    double sum = space[index(place.bias + u)];
    for (std::size_t k = 0; k < x.size(); ++k)
      sum += space[index(place.matrix + u * static_cast<std::int64_t>(x.size())) + k] * x[k];
    return sum;
  }

  /// CUDNN_LSTM: linear layers 0 and 4 are the input gate, 1 and 5 the forget gate, 2 and 6 the new memory, 3 and 7 the
  /// output gate.
  static double lstm_unit(const auto& of, double& c) {
    const double input = sigmoid(of(0) + of(4));
    const double forget = sigmoid(of(1) + of(5));
    const double memory = std::tanh(of(2) + of(6));
    const double output = sigmoid(of(3) + of(7));
    c = forget * c + input * memory;
    return output * std::tanh(c);
  }

  /// CUDNN_GRU: linear layers 0 and 3 are the reset gate, 1 and 4 the update gate, 2 and 5 the new memory.
  static double gru_unit(const auto& of, double before) {
    const double reset = sigmoid(of(0) + of(3));
    const double update = sigmoid(of(1) + of(4));
    const double memory = std::tanh(of(2) + reset * of(5));
    return (1 - update) * memory + update * before;
  }

  RecurrentLayer layer_;
  LinearLayers places_;
};

Tensor run_op(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& w) {
  return layer.cell == RecurrentCell::lstm ? lstm(x, w.kernel, w.recurrent_kernel, w.bias, true)
                                           : gru(x, w.kernel, w.recurrent_kernel, w.bias, true);
}

class RecurrentWeightSpace : public ::testing::TestWithParam<RecurrentLayer> {
 protected:
  /// Packs into a space of NaN, to show what pack leaves out.
  Tensor packed() const {
    const Tensor space = Tensor::full({size_of_space(layer)}, std::nan(""));
    cudnn::pack(layer, scattered(layer), weights, space);
    return space;
  }

  const RecurrentLayer layer = GetParam();
  const std::int64_t sums = layer.gates() * layer.units;
  const Tensor x = random_tensor({layer.n, layer.time, layer.features}, 1);
  const RecurrentWeights weights{random_tensor({layer.features, sums}, 2), random_tensor({layer.units, sums}, 3),
                                 random_tensor(layer.cell == RecurrentCell::lstm ? Shape{sums} : Shape{2, sums}, 4)};
  const std::int64_t length = layer.n * layer.time * (layer.features + layer.units);
};

TEST_P(RecurrentWeightSpace, GivesTheCpusResult) {
  const Values expected = DocumentedRecurrence(layer).run(x.to_vector<double>(), packed().to_vector<double>());
  expect_close(run_op(layer, x, weights), expected, length);
}

TEST_P(RecurrentWeightSpace, GivesTheCpusGradients) {
  const Tensor dy = random_tensor({layer.n, layer.time, layer.units}, 5, 0.5, 1.5);
  std::vector<Values> values{x.to_vector<double>(), packed().to_vector<double>()};
  const auto documented = [&](const std::vector<Values>& in) { return DocumentedRecurrence(layer).run(in[0], in[1]); };
  std::vector<float> of_space;
  for (std::size_t i = 0; i < values[1].size(); ++i)
    of_space.push_back(static_cast<float>(detail::numeric_gradient(documented, values, 1, i, dy.to_vector<double>())));

  const RecurrentWeights unpacked{Tensor::empty(weights.kernel.shape()),
                                  Tensor::empty(weights.recurrent_kernel.shape()), Tensor::empty(weights.bias.shape())};
  cudnn::unpack(layer, scattered(layer), Tensor::from(of_space, {size_of_space(layer)}), unpacked);
  const std::vector inputs{weights.kernel, weights.recurrent_kernel, weights.bias};
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  const std::vector<Tensor> gradients = tape.gradient(sum(multiply(run_op(layer, x, weights), dy)), inputs);
  expect_close(gradients[0], unpacked.kernel.to_vector<double>(), length);
  expect_close(gradients[1], unpacked.recurrent_kernel.to_vector<double>(), length);
  expect_close(gradients[2], unpacked.bias.to_vector<double>(), length);
}

TEST_P(RecurrentWeightSpace, IsReadOnlyForTheWeightsThatAreWanted) {
  const Tensor space = packed();
  const Tensor bias = Tensor::empty(weights.bias.shape());
  cudnn::unpack(layer, scattered(layer), space, {{}, {}, bias});
  expect_same_bits(bias, weights.bias);
  const Tensor recurrent = Tensor::empty(weights.recurrent_kernel.shape());
  cudnn::unpack(layer, scattered(layer), space, {{}, recurrent, {}});
  expect_same_bits(recurrent, weights.recurrent_kernel);
}

INSTANTIATE_TEST_SUITE_P(
    Layers, RecurrentWeightSpace,
    ::testing::Values(RecurrentLayer{RecurrentCell::lstm, 1, 1, 1, 1}, RecurrentLayer{RecurrentCell::lstm, 3, 4, 5, 2},
                      RecurrentLayer{RecurrentCell::lstm, 2, 3, 2, 5}, RecurrentLayer{RecurrentCell::gru, 1, 1, 1, 1},
                      RecurrentLayer{RecurrentCell::gru, 3, 4, 5, 2}, RecurrentLayer{RecurrentCell::gru, 2, 3, 2, 5}));

}  // namespace
}  // namespace lockstep::test
