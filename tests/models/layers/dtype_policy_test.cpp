#include <memory>
#include <thread>

#include <lockstep/models/layers/dense.h>
#include <lockstep/models/layers/dtype_policy.h>
#include <lockstep/models/layers/flatten.h>

#include "layer_test.h"

namespace lockstep::test {
namespace {

TEST(DTypePolicy, HasKerasNames) {
  EXPECT_EQ(name(DTypePolicy::float32), "float32");
  EXPECT_EQ(name(DTypePolicy::mixed_bfloat16), "mixed_bfloat16");
  EXPECT_EQ(parse_dtype_policy("float32"), DTypePolicy::float32);
  EXPECT_EQ(parse_dtype_policy("mixed_bfloat16"), DTypePolicy::mixed_bfloat16);
  EXPECT_ERROR(InvalidArgument, "'mixed_float16' is no dtype policy; choose float32 or mixed_bfloat16",
               parse_dtype_policy("mixed_float16"));
}

TEST(DTypePolicyScope, TheInnermostDecides) {
  EXPECT_EQ(current_dtype_policy(), DTypePolicy::float32);
  {
    const DTypePolicyScope outer("mixed_bfloat16");
    EXPECT_EQ(current_dtype_policy(), DTypePolicy::mixed_bfloat16);
    EXPECT_EQ(with_dtype_policy("float32", [] { return current_dtype_policy(); }), DTypePolicy::float32);
    EXPECT_EQ(current_dtype_policy(), DTypePolicy::mixed_bfloat16);
  }
  EXPECT_EQ(current_dtype_policy(), DTypePolicy::float32);
}

TEST(DTypePolicyScope, IsOfItsThread) {
  const DTypePolicyScope mixed(DTypePolicy::mixed_bfloat16);
  DTypePolicy of_other = DTypePolicy::mixed_bfloat16;
  std::thread([&] { of_other = current_dtype_policy(); }).join();
  EXPECT_EQ(of_other, DTypePolicy::float32);
}

TEST(DTypePolicyScope, MayEndInAnyOrderAndOnAnotherThread) {
  auto first = std::make_unique<DTypePolicyScope>(DTypePolicy::mixed_bfloat16);
  auto second = std::make_unique<DTypePolicyScope>(DTypePolicy::float32);
  first.reset();
  EXPECT_EQ(current_dtype_policy(), DTypePolicy::float32);
  first = std::make_unique<DTypePolicyScope>(DTypePolicy::mixed_bfloat16);
  std::thread([&] { first.reset(); }).join();
  EXPECT_EQ(current_dtype_policy(), DTypePolicy::float32);
  second.reset();
  EXPECT_EQ(current_dtype_policy(), DTypePolicy::float32);
}

TEST(Layer, HasThePolicyOfTheScopeThatItWasMadeIn) {
  const Dense plain({.units = 1});
  const DTypePolicyScope mixed("mixed_bfloat16");
  const Dense layer({.units = 1});
  EXPECT_EQ(plain.impl().dtype_policy(), DTypePolicy::float32);
  EXPECT_EQ(plain.impl().compute_dtype(), DType::f32);
  EXPECT_EQ(layer.impl().dtype_policy(), DTypePolicy::mixed_bfloat16);
  EXPECT_EQ(layer.impl().compute_dtype(), DType::bf16);
  layer.impl().set_dtype_policy(DTypePolicy::float32);
  EXPECT_EQ(layer.impl().compute_dtype(), DType::f32);
}

TEST(Layer, KeepsItsPolicyOnceItIsBuilt) {
  const Layer layer = built(Flatten(), {{3}});
  EXPECT_ERROR(LogicError, "layer 'layer' has been built already: its dtype policy cannot change",
               layer.impl().set_dtype_policy(DTypePolicy::mixed_bfloat16));
}

}  // namespace
}  // namespace lockstep::test
