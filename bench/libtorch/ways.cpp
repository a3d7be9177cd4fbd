#include "ways.h"

#include <algorithm>
#include <barrier>
#include <memory>
#include <numeric>
#include <thread>

#include <ATen/Parallel.h>
#if LOCKSTEP_HAVE_CUDA
#include <torch/nn/parallel/data_parallel.h>
#endif

#include <lockstep/lockstep.h>
#include <lockstep/models/libtorch/distribute.h>
#include <lockstep/models/libtorch/mirror.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::bench {
namespace {

namespace F = torch::nn::functional;
using torch::optim::SGD;

torch::optim::SGDOptions options_of(const Work& work) {
  return torch::optim::SGDOptions(work.learning_rate).momentum(0.9);
}

/// A part's share of the mean loss of the global batch.
torch::Tensor loss_of(const torch::Tensor& outputs, const torch::Tensor& labels, std::int64_t global_size) {
  return F::cross_entropy(outputs, labels, F::CrossEntropyFuncOptions().reduction(torch::kSum)) /
         static_cast<double>(global_size);
}

/// Number of threads that libtorch's ops use in each replica.
int threads_of_replica(const Work& work) { return std::max(1, compute_threads() / work.replicas); }

/// The state of by_hand(). Its threads run until it is destroyed.
class HandWritten {
 public:
  explicit HandWritten(const Work& work)
      : work_(work),
        inputs_(work.inputs.chunk(work.replicas)),
        labels_(work.labels.chunk(work.replicas)),
        losses_(static_cast<std::size_t>(work.replicas)),
        all_(work.replicas + 1),
        replicas_(work.replicas) {
    for (int replica = 0; replica < work.replicas; ++replica) {
      nets_.push_back(work.make());
      parameters_.push_back(nets_.back()->parameters());
      optimizers_.push_back(std::make_unique<SGD>(parameters_.back(), options_of(work)));
    }
    for (std::size_t replica = 0; replica < nets_.size(); ++replica)
      threads_.emplace_back([this, replica] { run(replica); });
  }
  ~HandWritten() {
    ends_ = true;
    all_.arrive_and_wait();
  }
  HandWritten(const HandWritten&) = delete;
  HandWritten& operator=(const HandWritten&) = delete;

  double step() {
    all_.arrive_and_wait();
    all_.arrive_and_wait();
    return std::accumulate(losses_.begin(), losses_.end(), 0.0);
  }
  const std::vector<Net>& nets() const { return nets_; }

 private:
  void run(std::size_t replica) {
    at::set_num_threads(threads_of_replica(work_));
    for (all_.arrive_and_wait(); !ends_; all_.arrive_and_wait()) {
      optimizers_[replica]->zero_grad();
      const torch::Tensor loss =
          loss_of(nets_[replica]->forward(inputs_[replica]), labels_[replica], work_.inputs.size(0));
      loss.backward();
      replicas_.arrive_and_wait();
      add_up(replica);
      replicas_.arrive_and_wait();
      optimizers_[replica]->step();
      losses_[replica] = loss.item<double>();
      all_.arrive_and_wait();
    }
  }

  /// For every n-th of the parameters, beginning with number `first`, sums the gradients of the n replicas and writes
  /// the sum to all of them.
  void add_up(std::size_t first) {
    for (std::size_t i = first; i < parameters_.front().size(); i += nets_.size()) {
      torch::Tensor sum = parameters_.front()[i].grad();
      for (std::size_t other = 1; other < nets_.size(); ++other) sum.add_(parameters_[other][i].grad());
      for (std::size_t other = 1; other < nets_.size(); ++other) parameters_[other][i].mutable_grad().copy_(sum);
    }
  }

  Work work_;
  std::vector<torch::Tensor> inputs_, labels_;
  std::vector<double> losses_;
  std::vector<Net> nets_;
  std::vector<std::vector<torch::Tensor>> parameters_;
  std::vector<std::unique_ptr<SGD>> optimizers_;
  bool ends_ = false;
  std::barrier<> all_;       ///< the replicas and the caller of step()
  std::barrier<> replicas_;  ///< the replicas
  std::vector<std::jthread> threads_;
};

}  // namespace

Training lockstep_libtorch(const Work& work) {
  std::vector<std::string> devices;
  for (int replica = 0; replica < work.replicas; ++replica) devices.push_back("CPU:" + std::to_string(replica));
  const MirroredStrategy strategy(devices);
  const auto net = libtorch::mirror(strategy, work.make);
  const auto optimizer = libtorch::optimizer<SGD>(net, options_of(work));
  const libtorch::ReplicaBatches batch(strategy, torch::data::Example<>{work.inputs, work.labels});
  const auto step = [=] {
    const auto losses = strategy.run(
        [&](const torch::data::Example<>& own) {
          optimizer->zero_grad();
          const torch::Tensor loss = loss_of(net->forward(own.data), own.target, batch.global_size());
          loss.backward();
          optimizer->step();
          return loss.item<double>();
        },
        batch);
    const auto& local = losses.local_results();
    return std::accumulate(local.begin(), local.end(), 0.0);
  };
  return {step, {net.replicas().begin(), net.replicas().end()}};
}

#if LOCKSTEP_HAVE_CUDA
Training data_parallel(const Work& work) {
  const Net net = work.make();
  const auto optimizer = std::make_shared<SGD>(net->parameters(), options_of(work));
  const std::vector<torch::Device> devices(static_cast<std::size_t>(work.replicas), torch::kCPU);
  const auto inputs = work.inputs.chunk(work.replicas);
  const auto step = [=] {
    optimizer->zero_grad();
    const auto replicas = torch::nn::parallel::replicate(net, devices);
    std::vector<torch::Tensor> outputs(replicas.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t replica = 0; replica < replicas.size(); ++replica)
        threads.emplace_back([&, replica] {
          at::set_num_threads(threads_of_replica(work));
          outputs[replica] = replicas[replica].ptr()->forward(inputs[replica]);
        });
    }
    at::set_num_threads(compute_threads());  // in some libraries, the number applies to the whole process
    const torch::Tensor loss = F::cross_entropy(torch::cat(outputs), work.labels);
    loss.backward();
    optimizer->step();
    return loss.item<double>();
  };
  return {step, {net}};
}
#endif

Training by_hand(const Work& work) {
  const auto trained = std::make_shared<HandWritten>(work);
  return {[trained] { return trained->step(); }, trained->nets()};
}

Training one(const Work& work) {
  at::set_num_threads(compute_threads());
  Net net = work.make();
  const auto optimizer = std::make_shared<SGD>(net->parameters(), options_of(work));
  const auto step = [work, net, optimizer]() mutable {
    optimizer->zero_grad();
    const torch::Tensor loss = F::cross_entropy(net->forward(work.inputs), work.labels);
    loss.backward();
    optimizer->step();
    return loss.item<double>();
  };
  return {step, {net}};
}

}  // namespace lockstep::bench
