#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/torch.h>

#include <lockstep/models/libtorch/mirror.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

namespace lockstep::test {

/// A perceptron with a hidden layer.
struct SmallNetImpl : torch::nn::Module {
  explicit SmallNetImpl(std::int64_t hidden = 16)
      : first(register_module("first", torch::nn::Linear(8, hidden))),
        last(register_module("last", torch::nn::Linear(hidden, 3))) {}
  torch::Tensor forward(const torch::Tensor& x) { return last(torch::tanh(first(x))); }

  torch::nn::Linear first;
  torch::nn::Linear last;
};
TORCH_MODULE(SmallNet);

using Rows = torch::data::Example<>;

/// `count` random rows for a SmallNet; equal seeds give equal rows.
inline Rows rows(std::int64_t count, std::uint64_t seed = 0) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  return {torch::randn({count, 8}, generator), torch::randint(3, {count}, generator)};
}

/// The sum of the rows' losses. For no rows, it is 0 and also has a gradient.
inline torch::Tensor loss_sum(const torch::Tensor& logits, const torch::Tensor& targets) {
  namespace F = torch::nn::functional;
  return F::cross_entropy(logits, targets, F::CrossEntropyFuncOptions().reduction(torch::kSum));
}

/// A strategy of `replicas` logical CPUs.
inline MirroredStrategy cpus(int replicas) {
  std::vector<std::string> devices;
  for (int i = 0; i < replicas; ++i) devices.push_back("CPU:" + std::to_string(i));
  return MirroredStrategy(devices);
}

/// A mirrored SmallNet with the same values in every call.
inline libtorch::Mirrored<SmallNetImpl> mirrored_net(const Strategy& strategy, std::int64_t hidden = 16) {
  torch::manual_seed(7);
  return libtorch::mirror(strategy, [&] { return SmallNet(hidden); });
}

/// The largest difference between the parameters of two modules.
inline double difference(const torch::nn::Module& a, const torch::nn::Module& b) {
  double largest = 0;
  const auto of_b = b.named_parameters();
  for (const auto& item : a.named_parameters())
    largest = std::max(largest, (item.value() - of_b[item.key()]).abs().max().item<double>());
  return largest;
}

/// Whether all replicas' modules have the same bits.
template <class Module>
bool replicas_are_equal(const libtorch::Mirrored<Module>& net) {
  for (const auto& module : net.replicas()) {
    const auto of_first = net.replicas().front()->named_parameters();
    for (const auto& item : module->named_parameters())
      if (!torch::equal(item.value(), of_first[item.key()])) return false;
  }
  return true;
}

}  // namespace lockstep::test
