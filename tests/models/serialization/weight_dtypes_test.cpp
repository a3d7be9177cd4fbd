#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/custom_classes.h>
#include <support/expect_error.h>
#include <support/temporary_folder.h>
#include <support/tensors.h>

#include <lockstep/models/layers/dense.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/models/training/model_files.h>
#include <lockstep/models/training/sequential.h>

// Weights of custom layers in Keras' files, which hold f32 only.

namespace lockstep {
namespace {

class WeightDTypes : public testing::TestWithParam<const ModelFormat*> {
 protected:
  test::TemporaryFolder folder_;
  const std::string file_ = folder_ / ("model" + std::string(GetParam()->extension));
};

TEST_P(WeightDTypes, OtherThanF32AreRefused) {
  struct Counting : test::NegatedImpl {
    std::string_view class_name() const override { return "Counting"; }
    virtual DType dtype() const { return DType::f32; }
    void make_weights(std::span<const Shape>, const LayerSeed&) override {
      const auto zero = [](const Tensor& x) {
        if (x.dtype() == DType::f32)
          *x.data<float>() = 0;
        else
          *x.data<std::int64_t>() = 0;
      };
      add_weight({.name = "count", .shape = {}, .initializer = zero, .dtype = dtype(), .trainable = false});
    }
  };
  struct CountingWhole : Counting {
    DType dtype() const override { return DType::i64; }
  };
  register_keras_serializable<Counting>("tests", "Counting");
  const auto model_with = [](const std::shared_ptr<LayerImpl>& counting) {
    return Sequential({3}, {Dense({.units = 2}), Layer(counting)});
  };
  const Model whole = model_with(std::make_shared<CountingWhole>());
  const std::string weights = folder_ / "model.weights.h5";
  const std::string refused = "/count' is i64, .keras and .h5 files hold f32 only";
  EXPECT_ERROR(InvalidArgument, refused, save_model(whole, file_));
  EXPECT_ERROR(InvalidArgument, refused, whole.check_can_be_saved(file_));
  EXPECT_ERROR(InvalidArgument, refused, save_weights(whole.network(), weights));
  EXPECT_THAT(folder_.names(), testing::IsEmpty());
  const Model saved = model_with(std::make_shared<Counting>());
  for (const Variable& variable : saved.variables())
    variable.assign(test::random_tensor(variable.shape(), 1, 0.5, 1.5));
  save_model(saved, file_);
  save_weights(saved.network(), weights);
  const auto before = whole.variables()[0].value().to_vector<float>();
  for (const std::string& file : {file_, weights})
    EXPECT_ERROR(InvalidArgument, refused, load_weights(whole.network(), file));
  EXPECT_EQ(whole.variables()[0].value().to_vector<float>(), before);
}

INSTANTIATE_TEST_SUITE_P(Formats, WeightDTypes, testing::ValuesIn(model_formats),
                         [](const auto& format) { return std::string(format.param->extension).substr(1); });

}  // namespace
}  // namespace lockstep
