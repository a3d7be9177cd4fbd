// Files of modules and optimizers: one copy, for any number of replicas, that libtorch itself reads.

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/temporary_folder.h>

#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/conv_transpose.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/libtorch/distribute.h>
#include <lockstep/models/libtorch/files.h>
#include <lockstep/models/libtorch/tensor.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/runtime/memory/allocator.h>
#include <lockstep/strategy/core/replica_context.h>

#include "nets.h"

namespace lockstep::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// A perceptron with batch normalization, whose statistics are of each replica.
struct NormedImpl : torch::nn::Module {
  NormedImpl()
      : dense(register_module("dense", torch::nn::Linear(8, 4))),
        norm(register_module("norm", torch::nn::BatchNorm1d(4))) {}
  torch::Tensor forward(const torch::Tensor& x) { return norm(dense(x)); }
  torch::nn::Linear dense;
  torch::nn::BatchNorm1d norm;
};
TORCH_MODULE(Normed);

/// A mirrored Normed after a forward pass in training, with other rows on each replica.
libtorch::Mirrored<NormedImpl> used_net(const Strategy& strategy) {
  auto net = libtorch::mirror(strategy, [] { return Normed(); });
  strategy.run([&] { net->forward(rows(6, get_replica_context().local_replica()).data); });
  return net;
}

/// Layers whose weights libtorch keeps in another order of axes.
struct ConvolutionsImpl : torch::nn::Module {
  ConvolutionsImpl()
      : conv(register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, {3, 2})))),
        depthwise(register_module("depthwise", torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 4, 2).groups(4)))),
        norm(register_module("norm", torch::nn::BatchNorm2d(4))),
        up(register_module("up", torch::nn::ConvTranspose2d(torch::nn::ConvTranspose2dOptions(4, 5, 2).stride(2)))),
        dense(register_module("dense", torch::nn::Linear(5, 6))) {}
  torch::Tensor forward(const torch::Tensor& x) {
    return dense(up(torch::relu(norm(depthwise(conv(x))))).mean({2, 3}));
  }
  torch::nn::Conv2d conv, depthwise;
  torch::nn::BatchNorm2d norm;
  torch::nn::ConvTranspose2d up;
  torch::nn::Linear dense;
};
TORCH_MODULE(Convolutions);

/// The place of a weight of the model below in a file of Convolutions.
StoredWeight in_convolutions(const std::string& name) {
  static const std::map<std::string, StoredWeight> places{{"conv/kernel", {"conv.weight", {2, 3, 1, 0}}},
                                                          {"conv/bias", {"conv.bias"}},
                                                          {"depthwise/kernel", {"depthwise.weight", {2, 3, 0, 1}}},
                                                          {"depthwise/bias", {"depthwise.bias"}},
                                                          {"norm/gamma", {"norm.weight"}},
                                                          {"norm/beta", {"norm.bias"}},
                                                          {"norm/moving_mean", {"norm.running_mean"}},
                                                          {"norm/moving_variance", {"norm.running_var"}},
                                                          {"up/kernel", {"up.weight", {2, 3, 1, 0}}},
                                                          {"up/bias", {"up.bias"}},
                                                          {"dense/kernel", {"dense.weight", {1, 0}}},
                                                          {"dense/bias", {"dense.bias"}}};
  return places.at(name);
}

TEST(FileOfAModule, IsReadByAModelOfTheSameLayers) {
  const TemporaryFolder folder;
  const std::string file = folder / "net.safetensors";
  auto net = libtorch::mirror(cpus(1), [] { return Convolutions(); });
  net.first()->forward(torch::randn({8, 3, 9, 9}));  // changes the statistics
  net.first()->eval();
  libtorch::save(net, file);
  Model model = Sequential({9, 9, 3}, {Conv2D({.filters = 4, .kernel_size = {3, 2}, .name = "conv"}),
                                       DepthwiseConv2D({.kernel_size = 2, .name = "depthwise"}),
                                       BatchNormalization({.epsilon = 1e-5, .name = "norm"}), ReLU(),
                                       Conv2DTranspose({.filters = 5, .kernel_size = 2, .strides = 2, .name = "up"}),
                                       GlobalAveragePooling2D(), Dense({.units = 6, .name = "dense"})});
  model.load_weights(file, {.ignore_extra = true, .stored_as = in_convolutions});
  const torch::Tensor x = torch::randn({3, 3, 9, 9});
  const torch::NoGradGuard no_grad;
  const torch::Tensor expected = net.first()->forward(x);
  const Tensor found = model(libtorch::from_torch(x.permute({0, 2, 3, 1}).contiguous()), Mode::inference);
  EXPECT_TRUE(torch::allclose(libtorch::as_torch(found), expected, 1e-4, 1e-5));
}

class ModuleFile : public testing::TestWithParam<const char*> {
 protected:
  const TemporaryFolder folder_;
  const std::string file_ = folder_ / (std::string("net") + GetParam());
};

TEST_P(ModuleFile, IsOneModuleForAnyNumberOfReplicas) {
  const auto saved = used_net(cpus(3));
  libtorch::save(saved, file_);
  const auto loaded = libtorch::mirror(cpus(2), [] { return Normed(); });
  libtorch::load(loaded, file_);
  torch::Tensor mean = torch::zeros({4});
  for (const auto& module : saved.replicas()) mean += module->norm->running_mean / 3;
  for (const auto& module : loaded.replicas()) {
    EXPECT_EQ(difference(*module, *saved.first()), 0);
    EXPECT_TRUE(torch::allclose(module->norm->running_mean, mean, 1e-5, 1e-7));
    EXPECT_EQ(module->norm->num_batches_tracked.item<std::int64_t>(), 1);
  }
}

TEST_P(ModuleFile, LeavesTheReplicasBuffersAsTheyAre) {
  const auto net = used_net(cpus(2));
  const torch::Tensor before = net.first()->norm->running_mean.clone();
  libtorch::save(net, file_);
  EXPECT_TRUE(torch::equal(net.first()->norm->running_mean, before));
}

/// A module with a small and a large buffer.
struct BuffersImpl : torch::nn::Module {
  torch::Tensor small = register_buffer("small", torch::zeros({4}));
  torch::Tensor large = register_buffer("large", torch::zeros({1 << 20}));
};

TEST_P(ModuleFile, LeavesTheBuffersIfTheirMeansCannotBeRead) {
  const auto net = libtorch::mirror(cpus(2), [] { return std::make_shared<BuffersImpl>(); });
  net.replicas()[1]->small.fill_(1);
  CachingAllocator& host = allocator(LogicalDevice{});
  host.set_memory_limit(host.stats().bytes_in_use + 65536);
  EXPECT_THROW(libtorch::save(net, file_), OutOfMemory);
  host.set_memory_limit(0);
  EXPECT_TRUE(torch::equal(net.first()->small, torch::zeros({4})));
}

/// A module with buffers that are not numbers.
struct MaskedImpl : torch::nn::Module {
  explicit MaskedImpl(bool masked) {
    mask = register_buffer("mask", torch::full({4, 4}, masked, torch::kBool));
    bytes = register_buffer("bytes", torch::full({3}, masked ? 200 : 0, torch::kByte));
  }
  torch::Tensor mask, bytes;
};

TEST_P(ModuleFile, HasBuffersOfBoolAndBytes) {
  const auto masked = [](int replicas, bool value) {
    return libtorch::mirror(cpus(replicas), [=] { return std::make_shared<MaskedImpl>(value); });
  };
  const auto saved = masked(2, true);
  saved.replicas()[1]->mask.fill_(false);
  saved.replicas()[1]->bytes.fill_(7);
  libtorch::save(saved, file_);
  const auto loaded = masked(3, false);
  libtorch::load(loaded, file_);
  saved.synchronize_buffers();
  for (const auto& net : {saved, loaded})
    for (const auto& module : net.replicas()) {
      EXPECT_TRUE(module->mask.all().item<bool>());
      EXPECT_TRUE(torch::equal(module->bytes, torch::full({3}, 200, torch::kByte)));
    }
}

TEST_P(ModuleFile, IsTrainedFurther) {
  const MirroredStrategy strategy = cpus(2);
  const auto net = mirrored_net(strategy);
  libtorch::save(net, file_);
  libtorch::load(net, file_);
  const libtorch::ReplicaBatches batch(strategy, rows(5));
  const auto optimizer = libtorch::optimizer<torch::optim::SGD>(net, torch::optim::SGDOptions(0.1));
  strategy.run(
      [&](const Rows& own) {
        loss_sum(net->forward(own.data), own.target).backward();
        optimizer->step();
      },
      batch);
  EXPECT_TRUE(replicas_are_equal(net));
  const auto again = mirrored_net(cpus(2));
  EXPECT_GT(difference(*net.first(), *again.first()), 1e-3);
}

TEST_P(ModuleFile, ThatDoesNotFitChangesNothing) {
  libtorch::save(used_net(cpus(1)), file_);
  const auto net = mirrored_net(cpus(2));
  const auto expected = mirrored_net(cpus(2));
  EXPECT_THAT([&] { libtorch::load(net, file_); }, ThrowsMessage<InputError>(HasSubstr(file_)));
  EXPECT_EQ(difference(*net.first(), *expected.first()), 0);
  libtorch::save(mirrored_net(cpus(1), 17), file_);
  EXPECT_THAT([&] { libtorch::load(net, file_); }, ThrowsMessage<InputError>(HasSubstr("first.weight")));
  EXPECT_EQ(difference(*net.first(), *expected.first()), 0);
  EXPECT_TRUE(replicas_are_equal(net));
}

TEST_P(ModuleFile, ThatDoesNotFitLeavesTheReplicasBuffersAsTheyAre) {
  libtorch::save(mirrored_net(cpus(1)), file_);
  const auto net = used_net(cpus(2));
  std::vector<torch::Tensor> before;
  for (const auto& module : net.replicas()) before.push_back(module->norm->running_mean.clone());
  EXPECT_THROW(libtorch::load(net, file_), InputError);
  for (std::size_t replica = 0; replica < 2; ++replica)
    EXPECT_TRUE(torch::equal(net.replicas()[replica]->norm->running_mean, before[replica])) << replica;
}

TEST_P(ModuleFile, ThatIsMissingIsNamed) {
  EXPECT_THAT([&] { libtorch::load(mirrored_net(cpus(2)), file_); },
              ThrowsMessage<InputError>(file_ + ": there is no such file"));
}

INSTANTIATE_TEST_SUITE_P(Formats, ModuleFile, testing::Values(".pt", ".safetensors"),
                         [](const auto& format) { return std::string(format.param).substr(1); });

TEST(ModuleFile, IsReadByLibtorchAlone) {
  const TemporaryFolder folder;
  const auto net = used_net(cpus(2));
  libtorch::save(net, folder / "net.pt");
  Normed alone;
  torch::load(alone, folder / "net.pt");
  EXPECT_EQ(difference(*alone, *net.first()), 0);
}

TEST(ModuleFile, OfLibtorchAloneIsLoaded) {
  const TemporaryFolder folder;
  Normed alone;
  torch::save(alone, folder / "net.pt");
  const auto net = libtorch::mirror(cpus(2), [] { return Normed(); });
  libtorch::load(net, folder / "net.pt");
  for (const auto& module : net.replicas()) EXPECT_EQ(difference(*module, *alone), 0);
}

TEST(ModuleFile, MayBeLoadedByLibtorchOnEachReplica) {
  const TemporaryFolder folder;
  const MirroredStrategy strategy = cpus(2);
  auto net = mirrored_net(strategy);
  libtorch::save(net, folder / "net.pt");
  for (std::shared_ptr<SmallNetImpl> module : net.replicas()) torch::load(module, folder / "net.pt");
  strategy.run([&] { net->forward(torch::ones({1 + get_replica_context().local_replica(), 8})).sum().backward(); });
  for (const auto& module : net.replicas()) EXPECT_EQ(module->last->bias.grad()[0].item<float>(), 3);
}

TEST(ModuleFile, HasTheBuffersThatLibtorchLoaded) {
  const TemporaryFolder folder;
  torch::save(Normed(used_net(cpus(1)).first()), folder / "used.pt");
  const auto net = libtorch::mirror(cpus(2), [] { return Normed(); });
  for (std::shared_ptr<NormedImpl> module : net.replicas()) torch::load(module, folder / "used.pt");
  const torch::Tensor expected = net.first()->norm->running_mean.clone();
  libtorch::save(net, folder / "net.pt");
  Normed alone;
  torch::load(alone, folder / "net.pt");
  EXPECT_TRUE(torch::equal(alone->norm->running_mean, expected));
  EXPECT_NE(expected.abs().sum().item<float>(), 0);
}

/// One parameter for each name, or one with all of them.
struct VectorsImpl : torch::nn::Module {
  VectorsImpl(const std::vector<std::string>& names, bool tied) {
    for (const std::string& name : names)
      weights.push_back(register_parameter(name, tied && !weights.empty() ? weights[0] : torch::randn({4})));
  }
  std::vector<torch::Tensor> weights;
};

TEST(SafetensorsFileOfAModule, HasATensorUnderEachOfItsNames) {
  const TemporaryFolder folder;
  const std::string file = folder / "net.safetensors";
  const auto vectors = [](const std::vector<std::string>& names, bool tied) {
    return libtorch::mirror(cpus(2), [&] { return std::make_shared<VectorsImpl>(names, tied); });
  };
  const auto tied = vectors({"encoder", "decoder"}, true);
  libtorch::save(tied, file);
  const auto separate = vectors({"encoder", "decoder"}, false);
  libtorch::load(separate, file);
  for (const torch::Tensor& weight : separate.replicas()[1]->weights)
    EXPECT_TRUE(torch::equal(weight, tied.first()->weights[0]));
  const auto decoder = vectors({"decoder"}, false);
  libtorch::save(decoder, file);
  libtorch::load(tied, file);
  EXPECT_TRUE(torch::equal(tied.replicas()[1]->weights[0], decoder.first()->weights[0]));
  EXPECT_THAT([&] { libtorch::load(separate, file); }, ThrowsMessage<InputError>(HasSubstr("has no weight 'encoder'")));
  libtorch::save(vectors({"decoder", "other"}, false), file);
  EXPECT_THAT([&] { libtorch::load(tied, file); },
              ThrowsMessage<InputError>(HasSubstr("has weights that the model lacks, such as \"other\"")));
}

TEST(ModuleFile, ThatIsNoArchiveIsRefused) {
  const TemporaryFolder folder;
  std::ofstream(folder / "net.pt") << "text";
  EXPECT_THAT([&] { libtorch::load(mirrored_net(cpus(2)), folder / "net.pt"); },
              ThrowsMessage<InputError>(HasSubstr(folder / "net.pt")));
}

TEST(OptimizerFile, ThatDoesNotFitChangesNothing) {
  const TemporaryFolder folder;
  const MirroredStrategy strategy = cpus(2);
  const auto net = mirrored_net(strategy);
  const auto two_groups = [&](double second) {
    return libtorch::replicate(net, [=](SmallNetImpl& own) {
      std::vector<torch::optim::OptimizerParamGroup> groups{{own.first->parameters()}, {own.last->parameters()}};
      if (second == 0) groups[1].params().pop_back();
      return torch::optim::SGD(groups, torch::optim::SGDOptions(1 + second).momentum(0.9));
    });
  };
  const auto other = two_groups(0);
  strategy.run([&] {
    net->forward(torch::ones({1, 8})).sum().backward();
    other->step();
  });
  libtorch::save(other, folder / "other.pt");
  const auto optimizer = two_groups(1);
  EXPECT_THAT([&] { libtorch::load(optimizer, folder / "other.pt"); },
              ThrowsMessage<InputError>(HasSubstr(folder / "other.pt")));
  optimizer.for_each([](torch::optim::SGD& own) {
    EXPECT_EQ(own.param_groups()[0].options().get_lr(), 2);
    EXPECT_TRUE(own.state().empty());
  });
}

TEST(OptimizerFile, ResumesToTheSameBits) {
  const TemporaryFolder folder;
  const auto options = torch::optim::AdamOptions(1e-2);
  const auto train = [](const auto& net, const auto& optimizer, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t step = begin; step < end; ++step) {
      const libtorch::ReplicaBatches batch(net.strategy(), rows(6, step));
      net.strategy().run(
          [&](const Rows& own) {
            optimizer->zero_grad();
            loss_sum(net->forward(own.data), own.target).backward();
            optimizer->step();
          },
          batch);
    }
  };
  const auto whole = mirrored_net(cpus(2));
  const auto optimizer = libtorch::optimizer<torch::optim::Adam>(whole, options);
  train(whole, optimizer, 0, 3);
  libtorch::save(whole, folder / "net.pt");
  libtorch::save(optimizer, folder / "optimizer.pt");
  train(whole, optimizer, 3, 6);

  const auto resumed = mirrored_net(cpus(2));
  const auto resumed_optimizer = libtorch::optimizer<torch::optim::Adam>(resumed, options);
  libtorch::load(resumed, folder / "net.pt");
  libtorch::load(resumed_optimizer, folder / "optimizer.pt");
  train(resumed, resumed_optimizer, 3, 6);
  EXPECT_EQ(difference(*resumed.first(), *whole.first()), 0);
  EXPECT_TRUE(replicas_are_equal(resumed));
}

}  // namespace
}  // namespace lockstep::test
