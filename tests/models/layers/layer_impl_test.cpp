#include <lockstep/models/graph/symbol.h>
#include <lockstep/models/layers/batch_normalization.h>
#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/flatten.h>
#include <lockstep/models/layers/layer.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(Layer, IsBuiltOnce) {
  const Layer layer = built(Flatten(), {{3}});
  EXPECT_ERROR(LogicError, "layer 'layer' has been built already", layer.impl().build({}, {}));
}

TEST(Layer, ThatIsThawedHasStatisticsThatDoNotTrain) {
  const Layer layer = built(BatchNormalization(), {{3}});
  for (const bool trainable : {false, true}) {
    layer.impl().set_trainable(trainable);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(layer.impl().variables()[i].trainable(), trainable && i < 2);
    EXPECT_TRUE(layer.impl().has_statistics());
  }
}

TEST(Layer, HasAnOutputOnlyInAModel) {
  EXPECT_ERROR(LogicError, "layer 'x' has an output in a model: get it by the model's get_layer()",
               Dense({.units = 2, .name = "x"}).output());
}

TEST(LayerSeed, GivesEveryWeightASequenceOfItsOwn) {
  const LayerSeed layer{.seed = 1, .stream = 2};
  const LayerSeed next{.seed = 1, .stream = 3};
  EXPECT_NE(layer.key(0).stream, layer.key(1).stream);
  EXPECT_LT(layer.key(15).stream, next.key(0).stream);
}

}  // namespace
}  // namespace lockstep::test
