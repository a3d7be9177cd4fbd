#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/models/layers/embedding.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(Embedding, HasKerasWeights) {
  const Embedding layer = built(Embedding({.input_dim = 7, .output_dim = 5}), {{3}});
  EXPECT_THAT(weights_of(layer), testing::ElementsAre("layer/embeddings (7, 5)"));
  EXPECT_EQ(layer.impl().count_params(), 7 * 5);
  EXPECT_EQ(shape_after(layer, {{3}}), Shape({3, 5}));
  EXPECT_EQ(shape_after(layer, {{3, 2}}), Shape({3, 2, 5}));
  for (const float x : weight(layer, 0).to_vector<float>()) EXPECT_LE(std::abs(x), 0.05F);
}

TEST(Embedding, LooksIdsUpAlsoOfFloats) {
  const Embedding layer = built(Embedding({.input_dim = 7, .output_dim = 2}), {{3}});
  const Tensor ids = Tensor::from(std::vector<std::int64_t>{0, 6, 3, 3, 1, 2}, {2, 3});
  const Tensor y = call(layer, {ids});
  EXPECT_EQ(y.shape(), Shape({2, 3, 2}));
  expect_same_bits(y.view({6, 2}).slice_view(0, 1, 2), weight(layer, 0).slice_view(0, 6, 7));
  expect_same_bits(call(layer, {cast(ids, DType::f32)}), y);
}

TEST(Embedding, RefusesWhatItCannotTake) {
  EXPECT_ERROR(InvalidArgument, "of at least 1, got 0 and 5", Embedding({.input_dim = 0, .output_dim = 5}));
  EXPECT_ERROR(InvalidArgument, "got 7 and 0", Embedding({.input_dim = 7, .output_dim = 0}));
  const Embedding layer = built(Embedding({.input_dim = 7, .output_dim = 2}), {{1}});
  EXPECT_ERROR(InvalidArgument, "id 7 at place 0 is outside the 7 rows", call(layer, {Tensor::full({1, 1}, 7)}));
}

}  // namespace
}  // namespace lockstep::test
