// NaN among the inputs of an op is NaN in its result: what it hid, a training would go on with.

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "differentiable_ops.h"

namespace lockstep::test {
namespace {

using testing::Contains;
using testing::Each;
using testing::IsNan;

TEST(Nan, IsKeptByEveryOp) {
  const std::set<std::string> also_with_others{"concat", "cumsum of what is below", "dropout", "zero_pad2d"};
  for (const Op& op : differentiable_ops()) {
    std::vector<Tensor> inputs = op.inputs;
    inputs[0] = Tensor::full(inputs[0].shape(), std::nan(""));
    const std::vector<float> result = op.run(inputs).to_vector<float>();
    if (also_with_others.contains(op.name))
      EXPECT_THAT(result, Contains(IsNan())) << op.name;
    else
      EXPECT_THAT(result, Each(IsNan())) << op.name;
  }
}

}  // namespace
}  // namespace lockstep::test
