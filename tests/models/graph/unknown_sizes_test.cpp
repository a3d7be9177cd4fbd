#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/expect_error.h>
#include <support/replicas.h>
#include <support/small_problem.h>
#include <support/tensors.h>

#include <lockstep/models/graph/attention_call.h>
#include <lockstep/models/graph/network.h>
#include <lockstep/models/graph/unknown_sizes.h>
#include <lockstep/models/layers/activation.h>
#include <lockstep/models/layers/attention.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/bidirectional.h>
#include <lockstep/models/layers/conv.h>
#include <lockstep/models/layers/conv1d.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/embedding.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/gru.h>
#include <lockstep/models/layers/lstm.h>
#include <lockstep/models/layers/merge.h>
#include <lockstep/models/layers/pooling.h>
#include <lockstep/models/layers/reshape.h>
#include <lockstep/models/layers/time_distributed.h>
#include <lockstep/models/training/model.h>

// Inputs with sizes that differ between batches.

namespace lockstep::test {
namespace {

/// An image classifier with branches that are concatenated; `height` and `width` may be -1.
Network image_network(std::int64_t height, std::int64_t width) {
  const Symbol image = Input({height, width, 3});
  const auto branch = [&](std::int64_t size) {
    const Symbol x = Conv2D({.filters = 4, .kernel_size = size, .strides = 2, .padding = Padding::same})(image);
    return BatchNormalization()(x);
  };
  const Symbol joined = ReLU()(Concatenate()({branch(1), branch(3)}));
  return {image, Dense({.units = 2})(GlobalAveragePooling2D()(joined)), 5};
}

TEST(UnknownSizes, EachBatchMayHaveOthers) {
  const Network network = image_network(-1, -1);
  EXPECT_EQ(network.input_shape(), Shape({-1, -1, 3}));
  EXPECT_EQ(network.output_shape(), Shape({2}));
  for (const auto& [height, width] : {std::pair(8, 8), std::pair(5, 9), std::pair(1, 2)}) {
    const Tensor x = random_tensor({3, height, width, 3}, 1);
    expect_close(network(x, Mode::inference), image_network(height, width)(x, Mode::inference).to_vector<double>(), 64);
  }
}

TEST(UnknownSizes, ShapesOfResultsHaveThemWhereTheyDependOnThem) {
  const Symbol image = Input({-1, 6, 3});
  EXPECT_EQ(Conv2D({.filters = 4, .kernel_size = 3, .strides = 2})(image).shape(), Shape({-1, 2, 4}));
  EXPECT_EQ(Flatten()(image).shape(), Shape({-1}));
  EXPECT_EQ(GlobalMaxPooling2D()(image).shape(), Shape({3}));
  EXPECT_EQ(Reshape({.target_shape = {-1, 18}})(image).shape(), Shape({-1, 18}));
  const Symbol sequence = Input({-1, 5});
  EXPECT_EQ(LSTM({.units = 2, .return_sequences = true})(sequence).shape(), Shape({-1, 2}));
  EXPECT_EQ(Concatenate({.axis = 1})({sequence, Input({3, 5})}).shape(), Shape({-1, 5}));
}

TEST(UnknownSizes, TrainOverReplicas) {
  const auto weights_after = [](int replicas) {
    Model model = [&] {
      const Strategy strategy = mirrored(replicas);
      const auto inside = strategy.scope();
      const Symbol ids = Input({-1});
      const Symbol words = Embedding({.input_dim = 9, .output_dim = 4})(ids);
      return Model(ids, Dense({.units = 3})(LSTM({.units = 5})(words)), {.seed = 2});
    }();
    model.compile(SGD({.learning_rate = 0.5}), SparseCategoricalCrossentropy{{.from_logits = true}});
    for (const std::int64_t length : {4, 7, 2}) {
      std::vector<std::int64_t> ids;
      std::vector<std::int64_t> labels;
      for (std::int64_t i = 0; i < 5 * length; ++i) ids.push_back(i * i % 9);
      for (std::int64_t i = 0; i < 5; ++i) labels.push_back(ids[static_cast<std::size_t>(i * length)] % 3);
      model.fit(Dataset::from_tensors(Tensor::from(ids, {5, length}), Tensor::from(labels, {5})).batch(5));
    }
    return weights_of(model);
  };
  const auto expected = weights_after(1);
  const auto found = weights_after(3);
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t k = 0; k < expected[i].size(); ++k)
      EXPECT_NEAR(found[i][k], expected[i][k], tolerance(DType::f32, 64, 1)) << i << ": " << k;
}

/// Expects that the model that `make` returns gets the same weights from training over one, two and three replicas.
void expect_same_training(const std::function<Model()>& make, const Dataset& data) {
  const auto weights_after = [&](int replicas) {
    const Strategy strategy = mirrored(replicas);
    const auto inside = strategy.scope();
    Model model = make();
    model.compile(SGD({.learning_rate = 0.1}), SparseCategoricalCrossentropy{{.from_logits = true}});
    model.fit(data, {.epochs = 2});
    return weights_of(model);
  };
  const auto expected = weights_after(1);
  for (const int replicas : {2, 3}) {
    const auto found = weights_after(replicas);
    for (std::size_t i = 0; i < expected.size(); ++i)
      for (std::size_t k = 0; k < expected[i].size(); ++k)
        EXPECT_NEAR(found[i][k], expected[i][k], tolerance(DType::f32, 512, 1)) << i << ": " << k;
  }
}

// In one epoch, batches of images of several sizes, some with fewer images than there are replicas.
TEST(UnknownSizes, OfImagesTrainOverReplicas) {
  const auto images = [](std::int64_t rows, std::int64_t height, std::int64_t width) {
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < rows; ++i) labels.push_back(i % 2);
    return Dataset::from_tensors(random_tensor({rows, height, width, 3}, 1), Tensor::from(labels, {rows})).batch(rows);
  };
  const auto model = [] {
    const Symbol image = Input({-1, -1, 3});
    Symbol x = Conv2D({.filters = 4, .kernel_size = 3, .strides = 2, .padding = Padding::same})(image);
    x = ReLU()(BatchNormalization({.synchronized = true})(x));
    x = GlobalAveragePooling2D()(MaxPooling2D({.pool_size = 2})(x));
    return Model(image, Dense({.units = 2})(x), {.seed = 2});
  };
  expect_same_training(model, images(7, 8, 8).concatenate(images(2, 5, 9)).concatenate(images(5, 6, 4)));
}

// Sequences of several lengths with masked ends. One layer returns states that another takes.
TEST(UnknownSizes, OfMaskedSequencesTrainOverReplicas) {
  const auto sequences = [](std::int64_t rows, std::int64_t length) {
    std::vector<std::int64_t> ids;
    std::vector<std::int64_t> labels;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t step = 0; step < length; ++step)
        ids.push_back(step < row + 2 ? 1 + (row * length + step) % 8 : 0);
      labels.push_back(row % 3);
    }
    return Dataset::from_tensors(Tensor::from(ids, {rows, length}), Tensor::from(labels, {rows})).batch(rows);
  };
  const auto model = [] {
    const Symbol ids = Input({-1});
    const Symbol words = Embedding({.input_dim = 9, .output_dim = 4, .mask_zero = true})(ids);
    const std::vector<Symbol> encoded =
        Bidirectional(LSTM({.units = 2, .return_sequences = true, .return_state = true})).results({words});
    const Symbol attended = MultiHeadAttention({.num_heads = 2, .key_dim = 2})(encoded[0], words);
    const Symbol decoded = GRU({.units = 2})({attended, encoded[1]});
    const Symbol mean = GlobalAveragePooling1D()(attended);
    return Model(ids, Dense({.units = 3})(Concatenate()({decoded, mean, encoded[4]})), {.seed = 2});
  };
  expect_same_training(model, sequences(7, 4).concatenate(sequences(1, 6)).concatenate(sequences(5, 3)));
}

TEST(UnknownSizes, AreThoseOfAModelInAModel) {
  const Symbol inner_image = Input({-1, -1, 3});
  const Model inner(inner_image, Conv2D({.filters = 2, .kernel_size = 3})(inner_image));
  const Symbol image = Input({8, 6, 3});
  EXPECT_EQ(inner(image).shape(), Shape({6, 4, 2}));
  EXPECT_ERROR(InvalidArgument, "takes (-1, -1, 3), got (8, 6, 4)", inner(Input({8, 6, 4})));
}

TEST(UnknownSizes, AreNoneInASummary) {
  const std::string summary = image_network(-1, 8).summary("images");
  EXPECT_THAT(summary, testing::HasSubstr("(None, None, 8, 3)"));
}

TEST(UnknownSizes, AreFoundOutByAReshape) {
  const Symbol sequence = Input({-1, 4});
  const Symbol thirds = Reshape({.target_shape = {-1, 3}})(sequence);
  EXPECT_EQ(thirds.shape(), Shape({-1, 3}));
  EXPECT_EQ(Reshape({.target_shape = {-1, 11}})(sequence).shape(), Shape({-1, 11}));
  EXPECT_EQ(TimeDistributed(Reshape({.target_shape = {-1, 11}}))(Input({5, -1, 4})).shape(), Shape({5, -1, 11}));
  const Network network(sequence, Reshape({.target_shape = {2, -1}})(Dense({.units = 2})(thirds)), 0);
  EXPECT_EQ(network(Tensor::zeros({5, 6, 4}), Mode::inference).shape(), Shape({5, 2, 8}));
  EXPECT_ERROR(InvalidArgument, "Reshape cannot make (-1, 3) of (5, 4), which has 20 elements",
               network(Tensor::zeros({5, 5, 4}), Mode::inference));
}

TEST(UnknownSizes, MayBeMadeSmallByLargeWindowsAndStrides) {
  const Symbol sound = Input({-1, 2});
  const Symbol x = Conv1D({.filters = 3, .kernel_size = 1000, .strides = 400})(sound);
  const Network network(sound, MaxPooling1D({.pool_size = 12})(x), 0);
  EXPECT_EQ(network.output_shape(), Shape({-1, 3}));
  EXPECT_EQ(network(Tensor::zeros({2, 5800, 2}), Mode::inference).shape(), Shape({2, 1, 3}));
}

TEST(UnknownSizes, MayDifferBetweenTheTermsOfAFusedSum) {
  const auto sum_of = [](std::int64_t left, std::int64_t right) {
    const std::vector<Symbol> terms{Input({left, 3}, "left"), Input({right, 3}, "right")};
    return Network(terms, ReLU()(Add()({BatchNormalization()(terms[0]), terms[1]})), 0);
  };
  for (const Mode mode : {Mode::inference, Mode::train})
    for (const auto& [left, right] : {std::pair(5, 1), std::pair(1, 5), std::pair(5, 5)}) {
      const std::vector<Tensor> terms{random_tensor({4, left, 3}, 1), random_tensor({4, right, 3}, 2)};
      const Tensor y = sum_of(-1, -1)(terms, mode);
      EXPECT_EQ(y.shape(), Shape({4, 5, 3}));
      expect_close(y, sum_of(left, right)(terms, mode).to_vector<double>(), 64);
    }
}

TEST(UnknownSizes, DoNotFitKnownOnes) {
  EXPECT_ERROR(InvalidArgument, "a call on (-1, 3) and (5, 3), where -1 is any size: Add: shapes",
               Add()({Input({-1, 3}), Input({5, 3})}));
}

TEST(UnknownSizes, MustNotDecideAWeight) {
  const Symbol sequence = Input({-1, 5});
  EXPECT_ERROR(InvalidArgument,
               "the weights of layer 'dense' depend on a size of its input that is unknown, -1 (None in Keras)",
               Network(sequence, Dense({.units = 2})(Flatten()(sequence)), 0));
  const Symbol image = Input({-1, -1, 64});
  EXPECT_ERROR(InvalidArgument, "the weights of layer 'dense' depend on a size of its input that is unknown",
               Network(image, Dense({.units = 1000})(Flatten()(image)), 0));
  const Dense shared({.units = 2, .name = "shared"});
  EXPECT_ERROR(InvalidArgument, "'shared' was built for 5",
               Network({sequence, image}, {shared(sequence), shared(image)}, 0));
  EXPECT_ERROR(InvalidArgument, "Input needs sizes of at least 1, or -1 for any (the batch axis left out), got (-2, 5)",
               Input({-2, 5}));
  const Network network = image_network(-1, 8);
  EXPECT_ERROR(InvalidArgument, "the model takes batches of (-1, 8, 3), got",
               network(Tensor::zeros({2, 8, 9, 3}), Mode::inference));
}

}  // namespace
}  // namespace lockstep::test
