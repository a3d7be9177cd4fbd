#include <algorithm>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <support/errors.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/graph/attention_call.h>
#include <lockstep/models/graph/keras_order.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/bidirectional.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dropout.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/time_distributed.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/serialization/weights_h5.h>
#include <lockstep/models/training/sequential.h>
#include <lockstep/models/zoo/mini_googlenet.h>
#include <lockstep/runtime/device/registry.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

namespace lockstep {
namespace {

using test::contents_of;
using test::error_of;
using test::write_text;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

struct Sizes {
  std::int64_t filters = 4;
  int convolutions = 2;
};

/// Layers with 0, 2 and 4 weights, some classes more than once.
Network small_model(std::uint64_t seed, const Sizes& sizes = {}) {
  const Symbol input = Input({7, 7, 3});
  Symbol x = input;
  for (int i = 0; i < sizes.convolutions; ++i) {
    x = Conv2D({.filters = sizes.filters, .kernel_size = {3, 3}, .name = i == 0 ? "first" : ""})(x);
    x = BatchNormalization()(x);
    x = ActivationLayer(Activation::relu)(x);
  }
  x = Dropout({.rate = 0.5})(Flatten()(x));
  return {input, Dense({.units = 3})(x), seed};
}

/// Changes the values of all weights, including moving statistics.
void randomize(const Network& network, unsigned seed) {
  for (const Variable& variable : network.variables()) {
    variable.assign(test::random_tensor(variable.shape(), seed++, 0.5, 1.5));
  }
}

std::vector<std::vector<float>> all_weights_of(const Network& network) {
  std::vector<std::vector<float>> weights;
  for (const Variable& variable : network.variables()) weights.push_back(variable.value().to_vector<float>());
  return weights;
}

class WeightsH5 : public testing::Test {
 protected:
  /// The error of loading `text` as a file into the model, whose weights must stay unchanged.
  std::string load_failure(const Network& network, const std::string& text) const {
    write_text(file_, text);
    return load_failure(network);
  }
  std::string load_failure(const Network& network) const {
    const auto before = all_weights_of(network);
    std::string message = error_of<InputError>([&] { load_weights(network, file_); });
    EXPECT_EQ(all_weights_of(network), before);
    EXPECT_THAT(message, testing::Not(HasSubstr("\n")));
    return message;
  }

  test::TemporaryFolder folder_;
  const std::string file_ = folder_ / "model.weights.h5";
};

TEST_F(WeightsH5, HasTheLayoutOfKeras) {
  const Network network = small_model(1);
  save_weights(network, file_);
  const hdf5::Reader file(file_);
  EXPECT_THAT(file.names_in("/"), ElementsAre("layers", "vars"));
  EXPECT_THAT(file.names_in("layers"),
              ElementsAre("activation", "activation_1", "batch_normalization", "batch_normalization_1", "conv2d",
                          "conv2d_1", "dense", "dropout", "flatten", "input_layer"));
  EXPECT_THAT(file.names_in("layers/dropout/vars"), ElementsAre());
  EXPECT_THAT(file.names_in("layers/batch_normalization_1/vars"), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(file.names_in("layers/conv2d/vars"), ElementsAre("0", "1"));
  EXPECT_EQ(file.shape_of("layers/conv2d/vars/0"), Shape({3, 3, 3, 4}));
  EXPECT_EQ(file.shape_of("layers/dense/vars/0"), Shape({36, 3}));
}

TEST_F(WeightsH5, HoldsARecurrentLayersWeightsInItsCell) {
  const auto model = [](std::uint64_t seed) {
    const Symbol input = Input({5, 4});
    return Network(input, LSTM({.units = 3})(input), seed);
  };
  const Network saved = model(1);
  save_weights(saved, file_);
  {
    const hdf5::Reader file(file_);
    EXPECT_THAT(file.names_in("layers"), ElementsAre("input_layer", "lstm"));
    EXPECT_THAT(file.names_in("layers/lstm"), ElementsAre("cell", "vars"));
    EXPECT_THAT(file.names_in("layers/lstm/vars"), IsEmpty());
    EXPECT_THAT(file.names_in("layers/lstm/cell/vars"), ElementsAre("0", "1", "2"));
    EXPECT_EQ(file.shape_of("layers/lstm/cell/vars/1"), Shape({3, 12}));
  }
  const Network loaded = model(2);
  load_weights(loaded, file_);
  EXPECT_EQ(all_weights_of(loaded), all_weights_of(saved));
  const Symbol input = Input({5, 4});
  EXPECT_THAT(load_failure(Network(input, Flatten()(input), 0)),
              HasSubstr("weights that the model lacks: group \"layers/lstm/cell/vars\" has 3"));
}

TEST_F(WeightsH5, HoldsTheWeightsOfLayersInLayersInGroupsOfTheirOwn) {
  const auto model = [](std::uint64_t seed) {
    const Symbol input = Input({2, 5, 4});
    return Network(input, TimeDistributed(Bidirectional(GRU({.units = 3})))(input), seed);
  };
  const Network saved = model(1);
  save_weights(saved, file_);
  {
    const hdf5::Reader file(file_);
    const std::string both = "layers/time_distributed/layer";
    EXPECT_THAT(file.names_in("layers/time_distributed"), ElementsAre("layer", "vars"));
    EXPECT_THAT(file.names_in(both), ElementsAre("backward_layer", "forward_layer", "vars"));
    EXPECT_THAT(file.names_in(both + "/vars"), IsEmpty());
    EXPECT_THAT(file.attribute(both + "/forward_layer/vars", "name"), ElementsAre("forward_gru"));
    EXPECT_THAT(file.names_in(both + "/backward_layer/cell/vars"), ElementsAre("0", "1", "2"));
  }
  const Network loaded = model(2);
  load_weights(loaded, file_);
  EXPECT_EQ(all_weights_of(loaded), all_weights_of(saved));
  const Symbol input = Input({2, 5, 4});
  EXPECT_THAT(load_failure(Network(input, TimeDistributed(GRU({.units = 3}))(input), 0)),
              HasSubstr("has no weights for layer 'gru': there is no group"));
  EXPECT_THAT(load_failure(Network(input, TimeDistributed(Flatten())(input), 0)),
              HasSubstr("has a layer that the model lacks: \"layers/time_distributed/layer/backward_layer\""));
}

TEST_F(WeightsH5, HoldsAnAttentionLayersWeightsInItsInnerLayers) {
  const auto model = [](std::uint64_t seed) {
    const Symbol input = Input({5, 4});
    const Symbol y = MultiHeadAttention({.num_heads = 2, .key_dim = 3})(input, input);
    const GroupQueryAttention groups({.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2, .use_gate = true});
    return Network(input, groups(y, y), seed);
  };
  const Network saved = model(1);
  save_weights(saved, file_);
  {
    const hdf5::Reader file(file_);
    EXPECT_THAT(file.names_in("layers"), ElementsAre("grouped_query_attention", "input_layer", "multi_head_attention"));
    EXPECT_THAT(
        file.names_in("layers/multi_head_attention"),
        ElementsAre("_dropout_layer", "_softmax", "key_dense", "output_dense", "query_dense", "value_dense", "vars"));
    EXPECT_THAT(file.names_in("layers/multi_head_attention/vars"), IsEmpty());
    EXPECT_THAT(file.names_in("layers/multi_head_attention/_softmax/vars"), IsEmpty());
    EXPECT_EQ(file.shape_of("layers/multi_head_attention/output_dense/vars/0"), Shape({2, 3, 4}));
    EXPECT_EQ(file.shape_of("layers/grouped_query_attention/_key_dense/vars/1"), Shape({2, 3}));
    EXPECT_EQ(file.shape_of("layers/grouped_query_attention/_gate_dense/vars/1"), Shape({4, 3}));
  }
  const Network loaded = model(2);
  load_weights(loaded, file_);
  EXPECT_EQ(all_weights_of(loaded), all_weights_of(saved));
  const Symbol input = Input({5, 4});
  EXPECT_THAT(
      load_failure(Network(input, MultiHeadAttention({.num_heads = 2, .key_dim = 3})(input, input), 0)),
      HasSubstr("weights that the model lacks: group \"layers/grouped_query_attention/_gate_dense/vars\" has 2"));
}

TEST_F(WeightsH5, CountsLayersInTheOrderOfKeras) {
  const Symbol input = Input({4});
  const Symbol called_first = Dense({.units = 3})(input);
  const Symbol farther = Dense({.units = 2})(Dense({.units = 5})(input));
  const Network network(input, Concatenate()({called_first, farther}), 0);
  save_weights(network, file_);
  const hdf5::Reader file(file_);
  EXPECT_EQ(file.shape_of("layers/dense/vars/0"), Shape({4, 5}));
  EXPECT_EQ(file.shape_of("layers/dense_1/vars/0"), Shape({4, 3}));
  EXPECT_EQ(file.shape_of("layers/dense_2/vars/0"), Shape({5, 2}));
}

TEST_F(WeightsH5, GivesTheSameBitsBack) {
  const Network saved = small_model(1);
  randomize(saved, 100);
  save_weights(saved, file_);
  const Network loaded = small_model(2);
  ASSERT_NE(all_weights_of(loaded), all_weights_of(saved));
  load_weights(loaded, file_);
  EXPECT_EQ(all_weights_of(loaded), all_weights_of(saved));
}

TEST_F(WeightsH5, GivesMiniGoogLeNetBack) {
  const Model saved = zoo::mini_googlenet({32, 32, 3}, 10, {.seed = 1});
  randomize(saved.network(), 100);
  save_weights(saved.network(), file_);
  const Model loaded = zoo::mini_googlenet({32, 32, 3}, 10, {.seed = 2});
  load_weights(loaded.network(), file_);
  EXPECT_EQ(all_weights_of(loaded.network()), all_weights_of(saved.network()));
}

// semantics 11.1: checkpoints move freely between numbers of replicas. TF case 79: testSaveAndRestoreOnWrite
TEST_F(WeightsH5, IsTheSameFileForAnyNumberOfReplicas) {
  const MirroredStrategy three(logical_cpus(3));
  const Network saved = three.scope([] { return small_model(1); });
  randomize(saved, 100);
  save_weights(saved, file_);
  for (const int replicas : {1, 2}) {
    const MirroredStrategy strategy(logical_cpus(replicas));
    const Network loaded = strategy.scope([] { return small_model(2); });
    load_weights(loaded, file_);
    for (std::size_t i = 0; i < saved.variables().size(); ++i) {
      const Tensor expected = saved.variables()[i].value();
      const Variable variable = loaded.variables()[i];
      for (const Tensor& copy : variable.state().copies()) test::expect_same_bits(copy, expected);
    }
    const std::string again = folder_ / "again.weights.h5";
    save_weights(loaded, again);
    EXPECT_TRUE(contents_of(again) == contents_of(file_)) << replicas << " replicas";
  }
}

// TF case 82: testInitializeFromCheckpoint. In TensorFlow a variable remembers that it was restored, since a checkpoint
// may be attached before the variable exists; here a file is read when requested, so that it never affects later
// variables.
TEST_F(WeightsH5, GivesVariablesOfAScopeTheirValuesOnce) {
  const Network plain = small_model(1);
  for (const Variable& variable : plain.variables()) variable.assign(Tensor::full(variable.shape(), 1));
  save_weights(plain, file_);
  const MirroredStrategy strategy(logical_cpus(2));
  const Network mirrored = strategy.scope([] { return small_model(2); });
  load_weights(mirrored, file_);
  const Variable variable = mirrored.variables().front();
  for (const Tensor& copy : variable.state().copies()) test::expect_same_bits(copy, Tensor::full(variable.shape(), 1));
  variable.assign(Tensor::zeros(variable.shape()));
  EXPECT_NO_THROW(save_weights(mirrored, file_));
  for (const Tensor& copy : variable.state().copies()) test::expect_same_bits(copy, Tensor::zeros(variable.shape()));
}

// semantics 11.1: ON_READ, MEAN -> mean
TEST_F(WeightsH5, SavesTheMeanOfTheReplicasStatistics) {
  const MirroredStrategy two(logical_cpus(2));
  const Network saved = two.scope([] { return small_model(1); });
  const Variable mean = saved.layers()[1].impl().variables()[2];
  ASSERT_EQ(mean.synchronization(), Synchronization::on_read);
  const auto& copies = mean.state().copies();
  std::ranges::fill(copies[0].span<float>(), 1.0F);
  std::ranges::fill(copies[1].span<float>(), 2.0F);
  save_weights(saved, file_);
  std::vector<float> values(4);
  hdf5::Reader(file_).read("layers/batch_normalization/vars/2", values);
  EXPECT_THAT(values, testing::Each(1.5F));
}

TEST_F(WeightsH5, PassesOverWhatIsNotTheModels) {
  const Network saved = small_model(1);
  {
    hdf5::Writer file(0);
    for (const char* layer : {"conv2d", "batch_normalization", "conv2d_1", "batch_normalization_1", "dense"}) {
      const int index = std::string_view(layer).ends_with("_1") ? 3 : 0;
      const int at = std::string_view(layer).starts_with("conv") ? index : index + 1;
      const Layer& from = saved.layers()[std::string_view(layer) == "dense" ? 8 : at];
      for (std::size_t i = 0; i < from.impl().variables().size(); ++i) {
        const Variable& variable = from.impl().variables()[i];
        file.add_dataset(fmt::format("layers/{}/vars/{}", layer, i), variable.value().to_vector<float>(),
                         variable.shape());
      }
    }
    file.add_dataset("layers/dropout/seed_generator/vars/0", std::vector<float>{1, 2}, {2});
    file.add_group("layers/rescaling/vars");
    file.add_group("layers/functional/layers/input_layer/vars");
    file.add_dataset("optimizer/vars/0", std::vector<float>{1}, {});
    file.write_to(file_);
  }
  const Network loaded = small_model(2);
  load_weights(loaded, file_);
  EXPECT_EQ(all_weights_of(loaded), all_weights_of(saved));
}

TEST_F(WeightsH5, OfLayersThatWereTakenOutOfTheirModelsAreRead) {
  const auto make = [](std::uint64_t seed) {
    const Model inner = Sequential({4}, {Dense({.units = 4}), Dense({.units = 4})}, {.name = "inner", .seed = seed});
    const Symbol x = Input({4});
    return Model(x, Dense({.units = 2})(inner(Dense({.units = 4})(x))), {.seed = seed});
  };
  const Model saved = make(1);
  hdf5::Writer file(0);
  write_weights(file, flat_keras_model(saved.network(), ""));
  file.write_to(file_);
  const Model loaded = make(2);
  load_weights(loaded.network(), file_);
  EXPECT_EQ(all_weights_of(loaded.network()), all_weights_of(saved.network()));
}

TEST_F(WeightsH5, NamesFilesThatAreNotKerasWeights) {
  const Network network = small_model(1);
  EXPECT_EQ(load_failure(network), file_ + ": there is no such file");
  EXPECT_EQ(load_failure(network, "text"), file_ + ": this is not an HDF5 file");
  for (const auto& [group, message] :
       {std::pair{"weights", "this is not Keras 3's .weights.h5: there is no group \"layers\""},
        std::pair{"model_weights", "\"model_weights\" has no attribute \"layer_names\""}}) {
    hdf5::Writer other(0);
    other.add_group(group);
    other.write_to(file_);
    EXPECT_EQ(load_failure(network), file_ + ": " + message);
  }
}

TEST_F(WeightsH5, RefusesAFileThatIsCutShort) {
  const Network network = small_model(1);
  save_weights(network, file_);
  const std::string whole = contents_of(file_);
  for (const double part : {0.0, 0.01, 0.3, 0.5, 0.9, 0.99}) {
    const auto length = static_cast<std::size_t>(part * static_cast<double>(whole.size()));
    EXPECT_THAT(load_failure(network, whole.substr(0, length)),
                testing::AnyOf(file_ + ": this is not an HDF5 file",
                               StartsWith(file_ + ": cannot be opened as an HDF5 file: ")));
  }
  EXPECT_THAT(load_failure(network, whole.substr(0, whole.size() - 1)),
              StartsWith(file_ + ": cannot be opened as an HDF5 file: truncated file"));
}

TEST_F(WeightsH5, NamesWeightsOfAnotherShape) {
  save_weights(small_model(1), file_);
  EXPECT_EQ(load_failure(small_model(1, {.filters = 5})),
            file_ + ": weight 'first/kernel' has shape (3, 3, 3, 5), \"layers/conv2d/vars/0\" has (3, 3, 3, 4)");
}

TEST_F(WeightsH5, NamesLayersThatTheFileLacks) {
  save_weights(small_model(1), file_);
  EXPECT_EQ(load_failure(small_model(1, {.convolutions = 3})),
            file_ + ": has no weights for layer 'conv2d_1': there is no group \"layers/conv2d_2/vars\"");
}

TEST_F(WeightsH5, NamesWeightsThatTheModelLacks) {
  save_weights(small_model(1), file_);
  EXPECT_EQ(load_failure(small_model(1, {.convolutions = 1})),
            file_ + ": has weights that the model lacks: group \"layers/batch_normalization_1/vars\" has 4");
}

/// A model with one dense layer, "layer", and files for it.
class WeightsOfOneLayer : public WeightsH5 {
 protected:
  static Network model() {
    const Symbol input = Input({2});
    return {input, Dense({.units = 1, .name = "layer"})(input), 0};
  }
  static void add_kernel(hdf5::Writer& file) {
    file.add_dataset("layers/dense/vars/0", std::vector<float>{1, 2}, {2, 1});
  }
  static void add_bias(hdf5::Writer& file, const char* name = "1") {
    file.add_dataset(std::string("layers/dense/vars/") + name, std::vector<float>{3}, {1});
  }
  template <class Add>
  std::string failure_with(Add&& add) const {
    hdf5::Writer file(0);
    add(file);
    file.write_to(file_);
    return load_failure(model());
  }
};

TEST_F(WeightsOfOneLayer, NamesAMissingWeight) {
  EXPECT_EQ(failure_with([](hdf5::Writer& file) { add_kernel(file); }),
            file_ + ": layer 'layer' has 2 weights, group \"layers/dense/vars\" has 1");
  EXPECT_EQ(failure_with([](hdf5::Writer& file) {
              add_kernel(file);
              add_bias(file, "bias");
            }),
            file_ + ": \"layers/dense/vars/1\" is missing");
}

TEST_F(WeightsOfOneLayer, NamesWhatIsTooMuch) {
  EXPECT_EQ(failure_with([](hdf5::Writer& file) {
              add_kernel(file);
              add_bias(file);
              add_bias(file, "2");
            }),
            file_ + ": layer 'layer' has 2 weights, group \"layers/dense/vars\" has 3");
  EXPECT_EQ(failure_with([](hdf5::Writer& file) {
              add_kernel(file);
              add_bias(file);
              file.add_dataset("layers/functional/layers/dense/vars/0", std::vector<float>{1}, {1});
            }),
            file_ + ": has a layer that the model lacks: \"layers/functional/layers\"");
  EXPECT_EQ(failure_with([](hdf5::Writer& file) {
              add_kernel(file);
              add_bias(file);
              file.add_dataset("vars/0", std::vector<float>{1}, {1});
            }),
            file_ + ": has weights that the model lacks: group \"vars\" has 1");
}

TEST_F(WeightsOfOneLayer, KeepsOddNamesInOneLine) {
  EXPECT_EQ(failure_with([](hdf5::Writer& file) {
              add_kernel(file);
              add_bias(file);
              file.add_dataset("layers/a\nb/vars/0", std::vector<float>{1}, {1});
            }),
            file_ + ": has weights that the model lacks: group \"layers/a\\nb/vars\" has 1");
}

// A file may have hard links from a group to one that contains it.
TEST_F(WeightsOfOneLayer, RefusesModelsInACircle) {
  hdf5::Writer file(0);
  add_kernel(file);
  add_bias(file);
  file.add_group("layers/functional/layers");
  file.write_to(file_);
  const hid_t written = H5Fopen(file_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  ASSERT_GE(H5Lcreate_hard(written, "layers/functional", written, "layers/functional/layers/functional", H5P_DEFAULT,
                           H5P_DEFAULT),
            0);
  H5Fclose(written);
  EXPECT_EQ(load_failure(model()), file_ + ": has a layer that the model lacks: \"layers/functional/layers\"");
}

// Each level has two links to the next one: there are 2^18 paths to models.
TEST_F(WeightsOfOneLayer, RefusesMoreModelsThanItIsWorthToLookAt) {
  hdf5::Writer file(0);
  add_kernel(file);
  add_bias(file);
  std::string level = "layers/functional/layers";
  std::vector<std::pair<std::string, std::string>> links;
  for (int i = 0; i < 18; ++i) {
    file.add_group(level + "/b");
    links.emplace_back(level + "/a/layers", level + "/b/layers");
    level += "/a/layers";
  }
  file.add_group(level);
  file.write_to(file_);
  const hid_t written = H5Fopen(file_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  for (const auto& [next, link] : links)
    ASSERT_GE(H5Lcreate_hard(written, next.c_str(), written, link.c_str(), H5P_DEFAULT, H5P_DEFAULT), 0);
  H5Fclose(written);
  EXPECT_EQ(load_failure(model()), file_ + ": has a layer that the model lacks: \"layers/functional/layers\"");
}

// Nested models whose layers are all in the group of another model.
TEST_F(WeightsH5, MayHaveModelsThatHoldNothing) {
  const Dense shared({.units = 2});
  const Symbol a = Input({2});
  const Model first(a, shared(a));
  const Symbol b = Input({2});
  const Model inner(b, shared(b));
  const Symbol c = Input({2});
  const Model second(c, inner(c));
  const Symbol x = Input({2});
  const Network network(x, second(first(x)), 1);
  save_weights(network, file_);
  EXPECT_TRUE(hdf5::Reader(file_).has_group("layers/functional_1/layers/functional/layers/input_layer/vars"));
  const auto saved = all_weights_of(network);
  randomize(network, 2);
  load_weights(network, file_);
  EXPECT_EQ(all_weights_of(network), saved);
}

TEST_F(WeightsH5, AreReadAsTfKeras213WroteThem) {
  hdf5::Writer file(0);
  const std::string layers = "_layer_checkpoint_dependencies";
  const std::string inner = fmt::format("{}/sequential/{}/dense/vars", layers, layers);
  file.add_dataset(inner + "/0", std::vector<float>{1, 2}, {2, 1});
  file.add_dataset(layers + "/dense/vars/0", std::vector<float>{3}, {1, 1});
  file.add_group(layers + "/input_layer/vars");
  file.write_to(file_);
  const Model model = Sequential({2}, {Dense({.units = 1, .use_bias = false})});
  const Symbol x = Input({2});
  const Network network(x, Dense({.units = 1, .use_bias = false})(model(x)), 0);
  load_weights(network, file_);
  EXPECT_THAT(all_weights_of(network), ElementsAre(std::vector<float>{1, 2}, std::vector<float>{3}));
}

}  // namespace
}  // namespace lockstep
