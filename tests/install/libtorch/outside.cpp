#include <iostream>

#include <torch/torch.h>

#include <lockstep/lockstep.h>
#include <lockstep/models/libtorch/mirror.h>

// d/dw sum(w x) over the rows of two replicas: 1 + 2.
int main() {
  using namespace lockstep;
  const MirroredStrategy strategy(logical_cpus(2));
  const auto net = libtorch::mirror(strategy, [] { return torch::nn::Linear(1, 1); });
  strategy.run([&] {
    const double x = 1 + get_replica_context().local_replica();
    net->forward(torch::full({1, 1}, x)).sum().backward();
  });
  const double gradient = net.first()->weight.grad().item<double>();
  std::cout << "gradient " << gradient << " over " << strategy.num_replicas_in_sync() << " replicas\n";
  return gradient == 3 ? 0 : 1;
}
