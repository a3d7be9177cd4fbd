#include <algorithm>
#include <array>
#include <cmath>

#include <kernels/cases/op_case.h>
#include <kernels/cases/recurrence.h>

#include <lockstep/kernels/recurrence/gru.h>
#include <lockstep/kernels/recurrence/lstm.h>

namespace lockstep::test {
namespace {

struct RecurrenceSizes {
  std::int64_t rows, time, features, units;
  bool return_sequences = false;
  bool has_states = false;  ///< the inputs after the bias are initial states, not factors of dropout
  bool returns_c = false;   ///< instead of h
};

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

/// A recurrent layer as loops over x, kernel, recurrent_kernel and bias, and perhaps the factors of dropout or the
/// initial states h and c.
class PlainRecurrence {
 public:
  PlainRecurrence(const RecurrenceSizes& sizes, std::int64_t gates, const Values& in)
      : sizes_(sizes), gates_(gates), x_(in[0]), kernel_(in[1]), recurrent_(in[2]), bias_(in[3]) {
    if (in.size() > 4) (sizes.has_states ? h_ : input_factors_) = in[4];
    if (in.size() > 5) (sizes.has_states ? c_ : state_factors_) = in[5];
  }
  virtual ~PlainRecurrence() = default;

  std::vector<double> run() const {
    std::vector<double> y;
    for (std::int64_t row = 0; row < sizes_.rows; ++row) run_row(row, y);
    return y;
  }

 protected:
  /// h of unit `u` after step `s`, from the states before the step; `c` is the unit's second state.
  virtual double next(std::int64_t row, std::int64_t s, const std::vector<double>& before, std::int64_t u,
                      double& c) const = 0;

  double of_input(std::int64_t row, std::int64_t s, std::int64_t gate, std::int64_t u) const {
    const std::int64_t column = gate * sizes_.units + u;
    double result = at(bias_, column);
    for (std::int64_t k = 0; k < sizes_.features; ++k)
      result += at(x_, (row * sizes_.time + s) * sizes_.features + k) * factor(input_factors_, row, gate, k) *
                at(kernel_, k * gates_ * sizes_.units + column);
    return result;
  }
  double of_state(std::int64_t row, const std::vector<double>& h, std::int64_t gate, std::int64_t u) const {
    const std::int64_t column = gate * sizes_.units + u;
    double result = 0;
    for (std::int64_t k = 0; k < sizes_.units; ++k)
      result += at(h, k) * factor(state_factors_, row, gate, k) * at(recurrent_, k * gates_ * sizes_.units + column);
    return result;
  }
  /// Bias of a state's product; it follows the biases of the input's products.
  double state_bias(std::int64_t gate, std::int64_t u) const { return at(bias_, (gates_ + gate) * sizes_.units + u); }
  static double at(const std::vector<double>& values, std::int64_t i) { return values[static_cast<std::size_t>(i)]; }

 private:
  void run_row(std::int64_t row, std::vector<double>& y) const {
    std::vector<double> h = first_state(h_, row);
    std::vector<double> c = first_state(c_, row);
    for (std::int64_t s = 0; s < sizes_.time; ++s) {
      const std::vector<double> before = h;
      for (std::size_t u = 0; u < h.size(); ++u) h[u] = next(row, s, before, static_cast<std::int64_t>(u), c[u]);
      const std::vector<double>& shown = sizes_.returns_c ? c : h;
      if (sizes_.return_sequences || s == sizes_.time - 1) y.insert(y.end(), shown.begin(), shown.end());
    }
  }

  std::vector<double> first_state(const std::vector<double>& states, std::int64_t row) const {
    if (states.empty()) return std::vector<double>(static_cast<std::size_t>(sizes_.units), 0);
    const auto first = states.begin() + row * sizes_.units;
    return {first, first + sizes_.units};
  }

  /// The factor of input k for a gate, from (rows, gates or 1, inputs).
  double factor(const std::vector<double>& factors, std::int64_t row, std::int64_t gate, std::int64_t k) const {
    if (factors.empty()) return 1;
    const std::int64_t inputs = &factors == &input_factors_ ? sizes_.features : sizes_.units;
    const auto parts = static_cast<std::int64_t>(factors.size()) / (sizes_.rows * inputs);
    return at(factors, (row * parts + (parts == 1 ? 0 : gate)) * inputs + k);
  }

  RecurrenceSizes sizes_;
  std::int64_t gates_;
  const std::vector<double>&x_, &kernel_, &recurrent_, &bias_;
  std::vector<double> input_factors_{};
  std::vector<double> state_factors_{};
  std::vector<double> h_{}, c_{};  ///< initial states; empty for 0
};

/// Keras' LSTM; the gates i, f, c, o.
class PlainLstm final : public PlainRecurrence {
 public:
  PlainLstm(const RecurrenceSizes& sizes, const Values& in) : PlainRecurrence(sizes, 4, in) {}

 private:
  double next(std::int64_t row, std::int64_t s, const std::vector<double>& before, std::int64_t u,
              double& c) const override {
    const auto sum = [&](std::int64_t gate) { return of_input(row, s, gate, u) + of_state(row, before, gate, u); };
    c = sigmoid(sum(1)) * c + sigmoid(sum(0)) * std::tanh(sum(2));
    return sigmoid(sum(3)) * std::tanh(c);
  }
};

/// Keras' GRU with reset_after; update gate, reset gate, candidate.
class PlainGru final : public PlainRecurrence {
 public:
  PlainGru(const RecurrenceSizes& sizes, const Values& in) : PlainRecurrence(sizes, 3, in) {}

 private:
  double next(std::int64_t row, std::int64_t s, const std::vector<double>& before, std::int64_t u,
              double&) const override {
    const auto state = [&](std::int64_t gate) { return of_state(row, before, gate, u) + state_bias(gate, u); };
    const double update = sigmoid(of_input(row, s, 0, u) + state(0));
    const double reset = sigmoid(of_input(row, s, 1, u) + state(1));
    const double candidate = std::tanh(of_input(row, s, 2, u) + reset * state(2));
    return update * at(before, u) + (1 - update) * candidate;
  }
};

double hard_sigmoid(double z) { return std::clamp(z / 6 + 0.5, 0.0, 1.0); }

/// Keras' LSTM with recurrent_activation hard_sigmoid and activation softsign.
class PlainHardLstm final : public PlainRecurrence {
 public:
  PlainHardLstm(const RecurrenceSizes& sizes, const Values& in) : PlainRecurrence(sizes, 4, in) {}

 private:
  double next(std::int64_t row, std::int64_t s, const std::vector<double>& before, std::int64_t u,
              double& c) const override {
    const auto sum = [&](std::int64_t gate) { return of_input(row, s, gate, u) + of_state(row, before, gate, u); };
    const auto softsign = [](double z) { return z / (1 + std::abs(z)); };
    c = hard_sigmoid(sum(1)) * c + hard_sigmoid(sum(0)) * softsign(sum(2));
    return hard_sigmoid(sum(3)) * softsign(c);
  }
};

/// Keras' GRU without reset_after, with recurrent_activation hard_sigmoid.
class PlainResetBeforeGru final : public PlainRecurrence {
 public:
  PlainResetBeforeGru(const RecurrenceSizes& sizes, const Values& in) : PlainRecurrence(sizes, 3, in) {}

 private:
  double next(std::int64_t row, std::int64_t s, const std::vector<double>& before, std::int64_t u,
              double&) const override {
    const auto gate = [&](std::int64_t number, std::int64_t unit) {
      return hard_sigmoid(of_input(row, s, number, unit) + of_state(row, before, number, unit));
    };
    std::vector<double> reset = before;
    for (std::size_t k = 0; k < reset.size(); ++k) reset[k] *= gate(1, static_cast<std::int64_t>(k));
    const double candidate = std::tanh(of_input(row, s, 2, u) + of_state(row, reset, 2, u));
    return gate(0, u) * at(before, u) + (1 - gate(0, u)) * candidate;
  }
};

/// Keras' SimpleRNN.
class PlainSimpleRnn final : public PlainRecurrence {
 public:
  PlainSimpleRnn(const RecurrenceSizes& sizes, const Values& in) : PlainRecurrence(sizes, 1, in) {}

 private:
  double next(std::int64_t row, std::int64_t s, const std::vector<double>& before, std::int64_t u,
              double&) const override {
    return std::tanh(of_input(row, s, 0, u) + of_state(row, before, 0, u));
  }
};

constexpr RecurrenceOptions usual;
constexpr RecurrenceOptions hard_lstm{.activation = Activation::softsign,
                                      .recurrent_activation = Activation::hard_sigmoid};
constexpr RecurrenceOptions reset_before{.recurrent_activation = Activation::hard_sigmoid, .reset_after = false};

template <auto op, const RecurrenceOptions& formula>
Tensor composed(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel, const Tensor& bias,
                bool return_sequences) {
  RecurrenceOptions options = formula;
  options.return_sequences = return_sequences;
  return op(x, kernel, recurrent_kernel, bias, options, {}, {}).h;
}

template <class Plain>
std::vector<double> run_plain(const RecurrenceSizes& sizes, const Values& in) {
  return Plain(sizes, in).run();
}

/// Reference of a recurrent kind.
using Plain = std::vector<double> (*)(const RecurrenceSizes& sizes, const Values& in);

OpCase case_of(const RecurrentKind& kind, Plain plain, const RecurrenceSizes& sizes) {
  const std::int64_t sums = kind.gates * sizes.units;
  // The longest sum of a gradient is that of a kernel, over all rows and steps; its terms have passed the sums of all
  // later steps.
  const std::int64_t length = sizes.rows * sizes.time * (sizes.features + sizes.units);
  return {
      .name = fmt::format("{} of {} rows, {} steps, {} features, {} units{}", kind.name, sizes.rows, sizes.time,
                          sizes.features, sizes.units, sizes.return_sequences ? ", sequences" : ""),
      .inputs = {random_tensor({sizes.rows, sizes.time, sizes.features}, 1), random_tensor({sizes.features, sums}, 2),
                 random_tensor({sizes.units, sums}, 3), random_tensor(kind.bias_shape(sizes.units), 4)},
      .run = [=](In in) { return kind.op(in[0], in[1], in[2], in[3], sizes.return_sequences); },
      .reference = [=](const Values& in) { return plain(sizes, in); },
      .check = {.length = length},
      .length_on_gpus = as_cudnn_rounds(length),
      .bf16 = Bf16::none,
      .same_bits_on_any_threads = false,
      .no_second_gradient = kind.is_composed ? "" : "kernels go back through time"};
}

/// An op with dropout: factors of the input for each of `input_gates`, and of the state for each of `state_gates`.
OpCase dropout_case(const RecurrentKind& kind, Composed op, const RecurrenceOptions& options, Plain plain,
                    std::int64_t input_gates, std::int64_t state_gates) {
  const RecurrenceSizes sizes{3, 4, 3, 2, true};
  OpCase result = case_of(kind, plain, sizes);
  result.name += fmt::format(", dropout for {} and {} gates", input_gates, state_gates);
  result.inputs.push_back(random_tensor({sizes.rows, input_gates, sizes.features}, 5));
  if (state_gates > 0) result.inputs.push_back(random_tensor({sizes.rows, state_gates, sizes.units}, 6));
  result.no_second_gradient = {};             // composed
  result.takes_no_rows = false;               // the factors have rows, too
  result.optional = state_gates > 0 ? 3 : 2;  // the bias and the factors
  result.run = [=](In in) {
    RecurrenceOptions all = options;
    all.return_sequences = true;
    return op(in[0], in[1], in[2], in[3], all, {.input = in[4], .state = in.size() > 5 ? in[5] : Tensor()}, {}).h;
  };
  return result;
}

/// An op from initial states to its states.
using FromStates = RecurrentStates (*)(In in, const RecurrentStates& initial, bool return_sequences);

template <auto op>
RecurrentStates from_states(In in, const RecurrentStates& initial, bool return_sequences) {
  return op(in[0], in[1], in[2], in[3], initial, return_sequences);
}

template <auto op, const RecurrenceOptions& formula>
RecurrentStates composed_from_states(In in, const RecurrentStates& initial, bool return_sequences) {
  RecurrenceOptions options = formula;
  options.return_sequences = return_sequences;
  return op(in[0], in[1], in[2], in[3], options, {}, initial);
}

/// One of the states that an op returns from initial states, which may be undefined.
OpCase states_case(const RecurrentKind& kind, FromStates op, Plain plain, const RecurrenceSizes& sizes) {
  OpCase result = case_of(kind, plain, sizes);
  const bool has_c = kind.gates == 4;
  result.name += sizes.returns_c ? ", c from states" : ", h from states";
  for (int state = 0; state < (has_c ? 2 : 1); ++state)
    result.inputs.push_back(random_tensor({sizes.rows, sizes.units}, 5 + state));
  result.takes_no_rows = false;  // the states have rows, too
  result.optional = has_c ? 2 : 1;
  result.run = [=](In in) {
    const RecurrentStates states = op(in, {.h = in[4], .c = has_c ? in[5] : Tensor()}, sizes.return_sequences);
    return sizes.returns_c ? states.c : states.h;
  };
  return result;
}

using UsualFromStates = RecurrentStates (*)(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                            const RecurrentStates&, bool);
constexpr UsualFromStates lstm_from_states = &lstm;
constexpr UsualFromStates gru_from_states = &gru;

void add_states_cases(const std::vector<Plain>& plain, std::vector<OpCase>& cases) {
  const std::array<FromStates, 5> ops{
      &from_states<lstm_from_states>, &from_states<gru_from_states>, &composed_from_states<composed_lstm, hard_lstm>,
      &composed_from_states<composed_gru, reset_before>, &composed_from_states<&simple_rnn, usual>};
  for (std::size_t kind = 0; kind < ops.size(); ++kind) {
    const RecurrentKind& of = recurrent_kinds()[kind];
    for (const bool c : {false, true}) {
      if (c && of.gates != 4) continue;
      for (const RecurrenceSizes& sizes :
           {RecurrenceSizes{3, 4, 3, 2, true, true, c}, RecurrenceSizes{2, 3, 2, 3, false, true, c}}) {
        cases.push_back(states_case(of, ops[kind], plain[kind], sizes));
        if (kind >= 2) ++cases.back().optional;  // composed ones need no bias
      }
    }
  }
}

}  // namespace

const std::vector<RecurrentKind>& recurrent_kinds() {
  static const auto& all = *new std::vector<RecurrentKind>{
      {"lstm", 4, 1, &lstm, false},
      {"gru", 3, 2, &gru, false},
      {"lstm with hard_sigmoid", 4, 1, &composed<composed_lstm, hard_lstm>},
      {"gru with reset before", 3, 1, &composed<composed_gru, reset_before>},
      {"simple_rnn", 1, 1, &composed<&simple_rnn, usual>},
  };
  return all;
}

std::vector<OpCase> recurrence_cases() {
  const std::vector<Plain> plain{&run_plain<PlainLstm>, &run_plain<PlainGru>, &run_plain<PlainHardLstm>,
                                 &run_plain<PlainResetBeforeGru>, &run_plain<PlainSimpleRnn>};
  std::vector<OpCase> cases;
  for (std::size_t kind = 0; kind < plain.size(); ++kind)
    for (const RecurrenceSizes& sizes :
         {RecurrenceSizes{1, 1, 1, 1}, RecurrenceSizes{3, 1, 2, 4, true}, RecurrenceSizes{4, 5, 3, 2},
          RecurrenceSizes{2, 7, 5, 3, true}, RecurrenceSizes{9, 3, 4, 17}, RecurrenceSizes{5, 12, 6, 8, true}}) {
      cases.push_back(case_of(recurrent_kinds()[kind], plain[kind], sizes));
      cases.back().optional = kind < 2 ? 0 : 1;  // composed ones need no bias
      cases.back().is_large = sizes.rows > 4;
    }
  const auto& kinds = recurrent_kinds();
  cases.push_back(dropout_case(kinds[0], composed_lstm, usual, plain[0], 1, 0));
  cases.push_back(dropout_case(kinds[0], composed_lstm, usual, plain[0], 4, 4));
  cases.push_back(dropout_case(kinds[1], composed_gru, usual, plain[1], 3, 3));
  cases.push_back(dropout_case(kinds[3], composed_gru, reset_before, plain[3], 3, 3));
  cases.push_back(dropout_case(kinds[4], &simple_rnn, usual, plain[4], 1, 1));
  add_states_cases(plain, cases);
  return cases;
}

}  // namespace lockstep::test
