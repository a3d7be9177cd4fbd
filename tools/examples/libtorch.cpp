// A convolutional network in libtorch's C++ API, trained on Fashion-MNIST over two replicas: PyTorch's example
// cpp/mnist with a strategy.
//   libtorch [EPOCHS [TRAINING_IMAGES [FILE]]]
// Writes the trained network to FILE, which torch::load reads.

#include <string>

#include <fmt/core.h>
#include <torch/torch.h>

#include <lockstep/lockstep.h>
#include <lockstep/models/libtorch/distribute.h>
#include <lockstep/models/libtorch/files.h>
#include <lockstep/models/libtorch/mirror.h>
#include <lockstep/models/libtorch/tensor.h>

using namespace lockstep;

namespace {

struct NetImpl : torch::nn::Module {
  NetImpl()
      : conv1(register_module("conv1", torch::nn::Conv2d(1, 10, 5))),
        conv2(register_module("conv2", torch::nn::Conv2d(10, 20, 5))),
        fc1(register_module("fc1", torch::nn::Linear(320, 50))),
        fc2(register_module("fc2", torch::nn::Linear(50, 10))) {}

  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(conv1(x), 2));
    x = torch::relu(torch::max_pool2d(conv2(x), 2));
    return fc2(torch::relu(fc1(x.flatten(1))));
  }

  torch::nn::Conv2d conv1, conv2;
  torch::nn::Linear fc1, fc2;
};
TORCH_MODULE(Net);

/// A part of a batch: images (n, 1, 28, 28) from 0 to 1, and classes.
torch::data::Example<> prepared(const Batch& part) {
  const torch::data::Example<> raw = libtorch::as_example(part);
  return {raw.data.to(torch::kFloat).div(255).unsqueeze(1), raw.target.to(torch::kLong)};
}

}  // namespace

int main(int argc, char** argv) try {
  const int epochs = argc > 1 ? std::stoi(argv[1]) : 5;
  const std::int64_t limit = argc > 2 ? std::stoll(argv[2]) : 60000;
  torch::manual_seed(1);

  const MirroredStrategy strategy({"CPU:0", "CPU:1"});
  const auto net = libtorch::mirror(strategy, [] { return Net(); });
  const auto optimizer = libtorch::optimizer<torch::optim::Adam>(net, torch::optim::AdamOptions(1e-3));
  const Example images = load_fashion_mnist({.limit = limit});
  const DistributedDataset train = strategy.distribute(Dataset::from_tensors(images).shuffle().batch(64).prefetch());
  const DistributedDataset test =
      strategy.distribute(Dataset::from_tensors(load_fashion_mnist({.split = Split::test})).batch(1000));

  for (int epoch = 0; epoch < epochs; ++epoch) {
    double loss_sum = 0;
    for (const DistributedBatch& batch : train.epoch(static_cast<std::uint64_t>(epoch))) {
      const auto losses = strategy.run(
          [&](const Batch& part) {
            const auto [x, y] = prepared(part);
            optimizer->zero_grad();
            const torch::Tensor loss =
                torch::nn::functional::cross_entropy(
                    net->forward(x), y, torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum)) /
                batch.global_size();
            loss.backward();  // grad() is then the sum over both replicas
            optimizer->step();
            return loss.detach();
          },
          batch);
      const Tensor loss = strategy.reduce(ReduceOp::sum, losses.transform(libtorch::from_torch));
      loss_sum += loss.item<double>() * static_cast<double>(batch.global_size());
    }
    std::int64_t correct = 0;
    std::int64_t tested = 0;
    for (const DistributedBatch& batch : test.epoch()) {
      const auto counts = strategy.run(
          [&](const Batch& part) {
            const torch::NoGradGuard no_grad;
            const auto [x, y] = prepared(part);
            return net->forward(x).argmax(1).eq(y).sum();
          },
          batch);
      correct += strategy.reduce(ReduceOp::sum, counts.transform(libtorch::from_torch)).item<std::int64_t>();
      tested += batch.global_size();
    }
    fmt::print("epoch {}: loss {:.4f}, test accuracy {:.4f}\n", epoch + 1,
               loss_sum / static_cast<double>(images.size()),
               static_cast<double>(correct) / static_cast<double>(tested));
  }
  if (argc > 3) libtorch::save(net, argv[3]);
} catch (const std::exception& error) {
  fmt::print(stderr, "libtorch: {}\n", error.what());
  return 1;
}
