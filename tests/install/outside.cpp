#include <iostream>

#include <lockstep/lockstep.h>

// d/dw (w x)^2 = 2 w x^2 with w = 3 on two replicas, x = 1 on the first and 2 on the second: 6 + 24.
int main() {
  using namespace lockstep;
  const MirroredStrategy strategy(logical_cpus(2));
  const Variable w = strategy.scope([] {
    return Variable(
        VariableSpec{.name = "w", .shape = {1}, .initializer = [](const Tensor& t) { *t.data<float>() = 3; }});
  });
  const PerReplica<Tensor> x({Tensor::full({1}, 1), Tensor::full({1}, 2)});
  const PerReplica<Tensor> gradients = strategy.run(
      [&](const Tensor& local) {
        GradientTape tape;
        const Tensor source = w.value();
        return tape.gradient(sum(square(source * local)), std::span(&source, 1)).front();
      },
      x);
  const float gradient = strategy.reduce(ReduceOp::sum, gradients).item<float>();
  std::cout << "gradient " << gradient << " over " << strategy.num_replicas_in_sync() << " replicas\n";
  return gradient == 30 ? 0 : 1;
}
