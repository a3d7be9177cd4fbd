#include <lockstep/kernels/losses/losses_kernels.h>

#include "kernels_bench.h"

namespace lockstep {
namespace {

/// Fused softmax and cross entropy. Verifies the loss and the gradient of one row in double precision.
struct CrossEntropy {
  Tensor logits, labels, loss, probabilities, dloss, dx;

  CrossEntropy(std::int64_t rows, std::int64_t classes)
      : logits(uniform({rows, classes}, 1)),
        labels(Tensor::empty({rows}, DType::i64)),
        loss(Tensor::empty({rows})),
        probabilities(Tensor::empty(logits.shape())),
        dloss(uniform({rows}, 2)),
        dx(Tensor::empty(logits.shape())) {
    for (std::int64_t i = 0; i < rows; ++i) labels.data<std::int64_t>()[i] = i * 7 % classes;
    forward();
    gradient();
    verify_last_row();
  }

  void forward() const { kernels::run_on_cpu(kernels::SparseSoftmaxCrossEntropy{logits, labels, loss, probabilities}); }
  void gradient() const {
    kernels::run_on_cpu(kernels::SparseSoftmaxCrossEntropyGradient{probabilities, labels, dloss, dx});
  }

 private:
  void verify_last_row() const {
    const std::int64_t row = logits.dim(0) - 1;
    const std::int64_t classes = logits.dim(1);
    const float* const x = logits.data<float>() + row * classes;
    const std::int64_t label = labels.data<std::int64_t>()[row];
    double sum = 0;
    for (std::int64_t i = 0; i < classes; ++i) sum += std::exp(static_cast<double>(x[i]));
    verify_element("cross entropy", loss.data<float>()[row], std::log(sum) - static_cast<double>(x[label]));
    for (std::int64_t i = 0; i < classes; ++i) {
      const double beyond = std::exp(static_cast<double>(x[i])) / sum - (i == label ? 1 : 0);
      verify_element("cross entropy's gradient", dx.data<float>()[row * classes + i],
                     static_cast<double>(dloss.data<float>()[row]) * beyond);
    }
  }
};

void add_cross_entropy(std::int64_t rows, std::int64_t classes) {
  const std::string size = std::to_string(rows) + "x" + std::to_string(classes);
  benchmark::RegisterBenchmark(("cross_entropy/forward/" + size).c_str(), [=](benchmark::State& state) {
    const CrossEntropy c(rows, classes);
    time_bytes(state, bytes_of({c.logits, c.probabilities}), [&] { c.forward(); });
  });
  benchmark::RegisterBenchmark(("cross_entropy/gradient/" + size).c_str(), [=](benchmark::State& state) {
    const CrossEntropy c(rows, classes);
    time_bytes(state, bytes_of({c.probabilities, c.dx}), [&] { c.gradient(); });
  });
}

}  // namespace

void add_losses() {
  add_cross_entropy(batch, 10);  // MiniGoogLeNet
  add_cross_entropy(batch, 1000);
  add_cross_entropy(4096, 1000);
}

}  // namespace lockstep
