#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <models/zoo/zoo_checks.h>
#include <support/expect_error.h>
#include <support/temporary_folder.h>

#include <lockstep/models/zoo/convnext.h>
#include <lockstep/models/zoo/densenet.h>
#include <lockstep/models/zoo/efficientnet.h>
#include <lockstep/models/zoo/inception_resnet_v2.h>
#include <lockstep/models/zoo/inception_v3.h>
#include <lockstep/models/zoo/mobilenet.h>
#include <lockstep/models/zoo/mobilenet_v2.h>
#include <lockstep/models/zoo/mobilenet_v3.h>
#include <lockstep/models/zoo/nasnet.h>
#include <lockstep/models/zoo/resnet.h>
#include <lockstep/models/zoo/vgg.h>
#include <lockstep/models/zoo/xception.h>

// tests/interop/zoo_interop.py compares all variants with Keras, layer by layer.

namespace lockstep::test {
namespace {

using zoo::FeaturePooling;
using zoo::ImageModelOptions;

/// A model of each family, with the number of parameters that Keras gives for it without its top.
struct Family {
  std::string name;
  std::function<Model(const ImageModelOptions&)> make;
  std::int64_t smallest_side;
  std::int64_t parameters;
  std::int64_t channels;  ///< of the features
};

const std::vector<Family> families{
    {"resnet50", zoo::resnet50, 32, 23587712, 2048},
    {"resnet50v2", zoo::resnet50_v2, 32, 23564800, 2048},
    {"vgg16", zoo::vgg16, 32, 14714688, 512},
    {"densenet121", zoo::densenet121, 32, 7037504, 1024},
    {"mobilenet", zoo::mobilenet, 32, 3228864, 1024},
    {"mobilenet_v2", zoo::mobilenet_v2, 32, 2257984, 1280},
    {"MobileNetV3Small", zoo::mobilenet_v3_small, 32, 939120, 576},
    {"xception", zoo::xception, 71, 20861480, 2048},
    {"inception_v3", zoo::inception_v3, 75, 21802784, 2048},
    {"inception_resnet_v2", zoo::inception_resnet_v2, 75, 54336736, 1536},
    {"efficientnetb0", zoo::efficientnet_b0, 32, 4049571, 1280},
    {"efficientnetv2-b0", zoo::efficientnet_v2b0, 32, 5919312, 1280},
    {"convnext_tiny", zoo::convnext_tiny, 32, 27820128, 768},
    {"nasnet_mobile", zoo::nasnet_mobile, 32, 4269716, 1056},
};

TEST(Applications, HaveKerasParametersWithoutTheirTop) {
  for (const auto& [name, make, smallest_side, parameters, channels] : families) {
    const Model model = make({.include_top = false, .pooling = FeaturePooling::avg});
    EXPECT_EQ(model.count_params(), parameters) << name;
    EXPECT_EQ(model.network().output_shape(), Shape{channels}) << name;
    EXPECT_EQ(model.network().input_shape(), name == "nasnet_mobile" ? Shape({224, 224, 3}) : Shape({-1, -1, 3}))
        << name;
  }
}

TEST(Applications, RefuseImagesThatKerasRefuses) {
  for (const Family& family : families) {
    const std::int64_t side = family.smallest_side;
    const std::string message =
        fmt::format("{0} takes images (height, width, channels) of at least {1} x {1}, got", family.name, side);
    EXPECT_ERROR(InvalidArgument, message, family.make({.input_shape = {side, side - 1, 3}}));
    EXPECT_ERROR(InvalidArgument, message, family.make({.include_top = false, .input_shape = {side - 1, -1, 3}}));
    EXPECT_ERROR(InvalidArgument, message, family.make({.input_shape = {side, side}}));
  }
}

const ImageModelOptions small_images{.include_top = false, .input_shape = {64, 33, 1}};

TEST(Applications, PoolTheirFeatures) {
  ImageModelOptions options = small_images;
  const Model whole = zoo::mobilenet(options);
  EXPECT_EQ(whole.network().output_shape(), (Shape{2, 1, 1024}));
  options.pooling = FeaturePooling::max;
  const Model largest = zoo::mobilenet(options);
  options.pooling = FeaturePooling::avg;
  const Model mean = zoo::mobilenet(options);
  const Tensor images = random_tensor({2, 64, 33, 1}, 1);
  const std::vector<float> pixels = whole(images).to_vector<float>();
  const std::vector<float> maxima = largest(images).to_vector<float>();
  const std::vector<float> means = mean(images).to_vector<float>();
  for (std::size_t i = 0; i < 1024; ++i) {
    EXPECT_EQ(maxima[i], std::max(pixels[i], pixels[1024 + i]));
    EXPECT_FLOAT_EQ(means[i], (pixels[i] + pixels[1024 + i]) / 2);
  }
}

TEST(Applications, TakeImagesOfAnySizeWithoutTheirTop) {
  const Model any = zoo::mobilenet_v2({.include_top = false, .pooling = FeaturePooling::avg});
  // Sides that are even before each stride, as which unknown ones count.
  const Model fixed =
      zoo::mobilenet_v2({.include_top = false, .input_shape = {64, 32, 3}, .pooling = FeaturePooling::avg});
  const Tensor images = random_tensor({1, 64, 32, 3}, 1);
  EXPECT_EQ(any(images).to_vector<float>(), fixed(images).to_vector<float>());
  EXPECT_EQ(any(random_tensor({1, 33, 65, 3}, 1)).shape(), (Shape{1, 1280}));
  EXPECT_EQ(any.count_params(), fixed.count_params());
  EXPECT_EQ(any.name(), "mobilenetv2_1.00_None");
  EXPECT_EQ(fixed.name(), "mobilenetv2_1.00_64");
  EXPECT_ERROR(InvalidArgument, "mobilenet_v2 takes images of any size (-1) only without its top, got (-1, 64, 3)",
               zoo::mobilenet_v2({.input_shape = {-1, 64, 3}}));
}

TEST(Applications, OfNASNetNeedASize) {
  EXPECT_ERROR(InvalidArgument, "nasnet_large takes images of one size, got (-1, 64, 3)",
               zoo::nasnet_large({.include_top = false, .input_shape = {-1, 64, 3}}));
}

TEST(Applications, LoadWeightsOfAFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "mobilenet.weights.h5";
  ImageModelOptions options = small_images;
  options.seed = 1;
  const Model saved = zoo::mobilenet(options);
  saved.save_weights(path);
  options.seed = 2;
  options.weights = path;
  options.name = "loaded";
  const Model loaded = zoo::mobilenet(options);
  EXPECT_EQ(loaded.name(), "loaded");
  for (std::size_t i = 0; i < saved.variables().size(); ++i)
    EXPECT_EQ(loaded.variables()[i].value().to_vector<float>(), saved.variables()[i].value().to_vector<float>());
  options.include_top = true;
  EXPECT_ERROR(InputError, path, zoo::mobilenet(options));
}

// As in Keras, but for legacy files, whose layers Keras counts.
TEST(Applications, LoadWeightsOfAFileWithTheTopIntoAModelWithoutIt) {
  const TemporaryFolder folder;
  const ImageModelOptions with_top{.input_shape = {32, 32, 3}, .classes = 3, .seed = 1};
  const Model saved = zoo::mobilenet_v3_small(with_top);
  saved.save(folder / "whole.keras");
  saved.save_weights(folder / "whole.weights.h5");
  saved.save_weights(folder / "whole.safetensors");
  ImageModelOptions options{.include_top = false, .input_shape = {32, 32, 3}};
  for (const char* name : {"whole.keras", "whole.weights.h5", "whole.safetensors"}) {
    SCOPED_TRACE(name);
    options.weights = folder / name;
    const Model loaded = zoo::mobilenet_v3_small(options);
    for (std::size_t i = 0; i < loaded.variables().size(); ++i)
      EXPECT_EQ(loaded.variables()[i].value().to_vector<float>(), saved.variables()[i].value().to_vector<float>());
  }
  saved.save(folder / "whole.h5");
  options.weights = folder / "whole.h5";
  EXPECT_ERROR(InputError, "layers with weights", zoo::mobilenet_v3_small(options));
}

TEST(Applications, RefuseOptionsWithoutEffect) {
  EXPECT_ERROR(InvalidArgument, "resnet50 pools its features only without its top",
               zoo::resnet50({.pooling = FeaturePooling::avg}));
  EXPECT_ERROR(InvalidArgument, "resnet50 downloads no weights", zoo::resnet50({.weights = "imagenet"}));
  EXPECT_ERROR(InvalidArgument, "resnet50 with `weights` takes softmax or linear as its classifier_activation",
               zoo::resnet50({.weights = "file.h5", .classifier_activation = Activation::sigmoid}));
}

}  // namespace
}  // namespace lockstep::test
