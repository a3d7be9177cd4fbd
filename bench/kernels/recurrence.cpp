#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/recurrence/recurrence_kernels.h>

#include "kernels_bench.h"

namespace lockstep {
namespace {

/// One time step of an LSTM without its matrix products. Verifies one unit in double precision.
struct LstmStep {
  Tensor sums, gates, recurrent, c_before, c, h, dh, dc, dsums;

  LstmStep(std::int64_t examples, std::int64_t units)
      : sums(uniform({examples, 4 * units}, 1)),
        gates(Tensor::empty(sums.shape())),
        recurrent(uniform(sums.shape(), 2)),
        c_before(uniform({examples, units}, 3)),
        c(Tensor::empty(c_before.shape())),
        h(Tensor::empty(c_before.shape())),
        dh(uniform(c_before.shape(), 4)),
        dc(uniform(c_before.shape(), 5)),
        dsums(Tensor::empty(sums.shape())) {
    kernels::run_on_cpu(kernels::Convert{sums, gates});
    forward();
    const double dc_after = dc.data<float>()[dc.elements() - 1];
    gradient();
    verify_last_unit(dc_after);
  }

  /// Overwrites `gates`: the first call reads pre-activations there, later calls gates. The work is the same.
  void forward() const { kernels::run_on_cpu(kernels::LstmStep{gates, recurrent, c_before, c, h}); }
  void gradient() const { kernels::run_on_cpu(kernels::LstmStepGradient{gates, c_before, c, dh, dc, dsums}); }

 private:
  void verify_last_unit(double dc_after) const {
    const std::int64_t units = c.dim(1);
    const auto last = [](const Tensor& t) { return static_cast<double>(t.data<float>()[t.elements() - 1]); };
    const auto sum = [&](int gate) {
      const std::int64_t at = sums.elements() - 1 - (3 - gate) * units;
      return static_cast<double>(sums.data<float>()[at]) + static_cast<double>(recurrent.data<float>()[at]);
    };
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    const double forget = sigmoid(sum(1));
    const double output = sigmoid(sum(3));
    const double state = forget * last(c_before) + sigmoid(sum(0)) * std::tanh(sum(2));
    verify_element("lstm_step", last(h), output * std::tanh(state));
    verify_element("lstm_step_gradient", last(dsums), last(dh) * std::tanh(state) * output * (1 - output));
    const double through_state = dc_after + last(dh) * output * (1 - std::pow(std::tanh(state), 2));
    verify_element("lstm_step_gradient", last(dc), through_state * forget);
  }
};

void add_lstm(std::int64_t examples, std::int64_t units) {
  const std::string size = std::to_string(examples) + "x" + std::to_string(units);
  benchmark::RegisterBenchmark(("lstm_step/forward/" + size).c_str(), [=](benchmark::State& state) {
    const LstmStep s(examples, units);
    time_bytes(state, bytes_of({s.gates, s.gates, s.recurrent, s.c_before, s.c, s.h}), [&] { s.forward(); });
  });
  benchmark::RegisterBenchmark(("lstm_step/gradient/" + size).c_str(), [=](benchmark::State& state) {
    const LstmStep s(examples, units);
    const double bytes = bytes_of({s.gates, s.c_before, s.c, s.dh, s.dc, s.dc, s.dsums});
    time_bytes(state, bytes, [&] { s.gradient(); });
  });
}

}  // namespace

void add_recurrences() {
  add_lstm(64, 64);  // zoo::siamese_lstm
  add_lstm(256, 1024);
}

}  // namespace lockstep
