#include <algorithm>
#include <array>
#include <vector>

#include <support/pretend_gpu/recurrence.h>

#include <lockstep/kernels/recurrence/gru_math.h>
#include <lockstep/kernels/recurrence/lstm_math.h>
#include <lockstep/runtime/device/not_capturable.h>

namespace lockstep::test {
namespace {

using ForwardRecord = WholeRecurrence::ForwardRecord;

/// A row-major matrix.
struct Matrix {
  float* values;
  std::int64_t columns;

  float* row(std::int64_t i) const { return values + i * columns; }
};

Matrix matrix(const Tensor& x) { return {x.data<float>(), x.dim(-1)}; }

/// The input's and the state's parts of the gates' sums in one step.
struct Sums {
  explicit Sums(const RecurrentLayer& layer)
      : of_input(static_cast<std::size_t>(layer.gates() * layer.units)), of_state(of_input) {}

  std::vector<float> of_input, of_state;
};

/// sums (columns) += x (n) * m (n, columns).
void add_product(const float* x, std::int64_t n, const Matrix& m, std::vector<float>& sums) {
  for (std::int64_t k = 0; k < n; ++k)
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += x[k] * m.row(k)[j];
}

/// dx (n) += dsums (columns) * m (n, columns) transposed.
void add_gradient_of_x(const std::vector<float>& dsums, std::int64_t n, const Matrix& m, float* dx) {
  for (std::int64_t k = 0; k < n; ++k)
    for (std::size_t j = 0; j < dsums.size(); ++j) dx[k] += dsums[j] * m.row(k)[j];
}

/// dm (n, columns) += the products of x (n) and dsums (columns).
void add_gradient_of_matrix(const float* x, std::int64_t n, const std::vector<float>& dsums, const Tensor& dm) {
  if (!dm.defined()) return;
  for (std::int64_t k = 0; k < n; ++k)
    for (std::size_t j = 0; j < dsums.size(); ++j) matrix(dm).row(k)[j] += x[k] * dsums[j];
}

void zero(const Tensor& x) {
  if (x.defined()) std::fill_n(x.data<float>(), x.elements(), 0.0F);
}

/// Numbers kept for each unit and step: an LSTM's gates i, f, c, o and its state; a GRU's gates z, r, h and the state's
/// part of h's sum.
constexpr std::int64_t kept_of_unit = 5;

/// One row's steps, forward or backward.
class Row {
 public:
  Row(const ForwardRecord& record, std::int64_t row)
      : record_(record), row_(row), none_(static_cast<std::size_t>(record.layer.units)) {}

  void forward() const {
    for (std::int64_t s = 0; s < record_.layer.time; ++s) {
      Sums sums(record_.layer);
      add_biases(sums);
      add_product(x(s), record_.layer.features, matrix(record_.weights.kernel), sums.of_input);
      add_product(h_before(s), record_.layer.units, matrix(record_.weights.recurrent_kernel), sums.of_state);
      for (std::int64_t u = 0; u < record_.layer.units; ++u)
        matrix(record_.y).row(at(s))[u] = is_lstm() ? lstm(s, u, sums) : gru(s, u, sums);
    }
  }

  void backward(const Tensor& dy, const Tensor& dx, const RecurrentWeights& dweights) const {
    std::vector<float> dh = none_;
    std::vector<float> dc = none_;
    for (std::int64_t s = record_.layer.time - 1; s >= 0; --s) {
      Sums d(record_.layer);
      for (std::int64_t u = 0; u < record_.layer.units; ++u) {
        float& gradient = dh[index(u)];
        gradient += matrix(dy).row(at(s))[u];
        gradient = is_lstm() ? lstm_gradient(s, u, gradient, dc[index(u)], d) : gru_gradient(s, u, gradient, d);
      }
      add_gradient_of_x(d.of_state, record_.layer.units, matrix(record_.weights.recurrent_kernel), dh.data());
      if (dx.defined())
        add_gradient_of_x(d.of_input, record_.layer.features, matrix(record_.weights.kernel), matrix(dx).row(at(s)));
      add_gradient_of_matrix(x(s), record_.layer.features, d.of_input, dweights.kernel);
      add_gradient_of_matrix(h_before(s), record_.layer.units, d.of_state, dweights.recurrent_kernel);
      add_gradient_of_biases(d, dweights.bias);
    }
  }

 private:
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  bool is_lstm() const { return record_.layer.cell == RecurrentCell::lstm; }
  std::size_t sum(std::int64_t gate, std::int64_t u) const { return index(gate * record_.layer.units + u); }
  std::int64_t at(std::int64_t s) const { return s * record_.layer.n + row_; }
  const float* x(std::int64_t s) const { return record_.x.data<float>() + at(s) * record_.layer.features; }
  const float* h_before(std::int64_t s) const { return s == 0 ? none_.data() : matrix(record_.y).row(at(s - 1)); }
  float* kept(std::int64_t s, std::int64_t u) const {
    return static_cast<float*>(record_.kept.raw_data()) + (at(s) * record_.layer.units + u) * kept_of_unit;
  }
  float c_before(std::int64_t s, std::int64_t u) const { return s == 0 ? 0 : kept(s - 1, u)[4]; }

  void add_biases(Sums& sums) const {
    const float* const biases = record_.weights.bias.data<float>();
    const std::size_t n = sums.of_input.size();
    for (std::size_t j = 0; j < n; ++j) sums.of_input[j] = biases[j];
    for (std::size_t j = 0; j < n && !is_lstm(); ++j) sums.of_state[j] = biases[n + j];
  }

  void add_gradient_of_biases(const Sums& d, const Tensor& dbias) const {
    if (!dbias.defined()) return;
    const std::size_t n = d.of_input.size();
    for (std::size_t j = 0; j < n; ++j) dbias.data<float>()[j] += d.of_input[j];
    for (std::size_t j = 0; j < n && !is_lstm(); ++j) dbias.data<float>()[n + j] += d.of_state[j];
  }

  float lstm(std::int64_t s, std::int64_t u, const Sums& sums) const {
    const auto of = [&](std::int64_t gate) { return sums.of_input[sum(gate, u)] + sums.of_state[sum(gate, u)]; };
    const LstmUnit unit = lstm_unit(of(0), of(1), of(2), of(3), c_before(s, u));
    std::ranges::copy(std::array{unit.input, unit.forget, unit.candidate, unit.output, unit.c}, kept(s, u));
    return unit.h;
  }

  /// Fills `d` and replaces dc by the gradient of the cell state before. Returns the gradient of the state before,
  /// without the part that goes through the sums.
  float lstm_gradient(std::int64_t s, std::int64_t u, float dh, float& dc, Sums& d) const {
    const float* const k = kept(s, u);
    const LstmUnit unit{.input = k[0], .forget = k[1], .candidate = k[2], .output = k[3], .c = k[4], .h = 0};
    const LstmUnitGradient gradient = lstm_unit_gradient(unit, c_before(s, u), dh, dc);
    d.of_input[sum(0, u)] = d.of_state[sum(0, u)] = gradient.sum_i;
    d.of_input[sum(1, u)] = d.of_state[sum(1, u)] = gradient.sum_f;
    d.of_input[sum(2, u)] = d.of_state[sum(2, u)] = gradient.sum_c;
    d.of_input[sum(3, u)] = d.of_state[sum(3, u)] = gradient.sum_o;
    dc = gradient.c_before;
    return 0;
  }

  float gru(std::int64_t s, std::int64_t u, const Sums& sums) const {
    const auto x = [&](std::int64_t gate) { return sums.of_input[sum(gate, u)]; };
    const auto state = [&](std::int64_t gate) { return sums.of_state[sum(gate, u)]; };
    const GruUnit unit = gru_unit(x(0), x(1), x(2), state(0), state(1), state(2), h_before(s)[u]);
    std::ranges::copy(std::array{unit.update, unit.reset, unit.candidate, state(2)}, kept(s, u));
    return unit.h;
  }

  /// Like lstm_gradient, for a GRU.
  float gru_gradient(std::int64_t s, std::int64_t u, float dh, Sums& d) const {
    const float* const k = kept(s, u);
    const GruUnit unit{.update = k[0], .reset = k[1], .candidate = k[2], .h = 0};
    const GruUnitGradient gradient = gru_unit_gradient(unit, k[3], h_before(s)[u], dh);
    d.of_input[sum(0, u)] = d.of_state[sum(0, u)] = gradient.sum_z;
    d.of_input[sum(1, u)] = d.of_state[sum(1, u)] = gradient.sum_r;
    d.of_input[sum(2, u)] = gradient.x_h;
    d.of_state[sum(2, u)] = gradient.s_h;
    return gradient.h_before;
  }

  const ForwardRecord& record_;
  std::int64_t row_;
  std::vector<float> none_;  ///< the state before the first step
};

}  // namespace

Tensor PretendGpuRecurrence::forward(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights,
                                     bool keep, const Tensor& y) {
  constexpr auto* name = "a recurrent layer";
  refuse_capture("a whole recurrent layer");
  gpus_.launch(name);
  const DeviceMemory::Access access(gpus_.memory());
  check_memory(name, gpus_.memory(), kernels::operands(x, weights.kernel, weights.recurrent_kernel, weights.bias, y));
  const Tensor kept = Tensor::empty({y.elements() * kept_of_unit * std::int64_t{sizeof(float)}}, DType::u8);
  const ForwardRecord record{layer, x, weights, y, kept};
  for (std::int64_t row = 0; row < layer.n; ++row) Row(record, row).forward();
  return keep ? kept : Tensor();
}

void PretendGpuRecurrence::backward(const ForwardRecord& record, const Tensor& dy, const Tensor& dx,
                                    const RecurrentWeights& dweights) {
  constexpr auto* name = "a recurrent layer's gradient";
  gpus_.launch(name);
  const DeviceMemory::Access access(gpus_.memory());
  check_memory(
      name, gpus_.memory(),
      kernels::operands(record.x, record.weights.kernel, record.weights.recurrent_kernel, record.weights.bias, record.y,
                        record.kept, dy, dx, dweights.kernel, dweights.recurrent_kernel, dweights.bias));
  for (const Tensor& d : {dx, dweights.kernel, dweights.recurrent_kernel, dweights.bias}) zero(d);
  for (std::int64_t row = 0; row < record.layer.n; ++row) Row(record, row).backward(dy, dx, dweights);
}

}  // namespace lockstep::test
