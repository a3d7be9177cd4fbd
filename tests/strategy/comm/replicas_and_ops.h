#pragma once

#include <algorithm>
#include <string>
#include <tuple>

#include <gtest/gtest.h>
#include <support/replicas.h>

namespace lockstep::test {

/// Base of tests with every number of replicas and every cross-device op.
class ReplicasAndOps : public testing::TestWithParam<std::tuple<int, CrossDeviceOps>> {
 protected:
  const int replicas_ = std::get<0>(GetParam());
  const CrossDeviceOps ops_ = std::get<1>(GetParam());
  const MirroredStrategy strategy_ = mirrored(replicas_, ops_);

  /// Makes the same call on every replica, each with its own value.
  template <class T, class Call>
  auto on_replicas(const PerReplica<T>& values, const Call& call) const {
    return strategy_.run([&](const T& own) { return call(get_replica_context(), own); }, values);
  }
  PerReplica<Tensor> all_reduce(ReduceOp op, const PerReplica<Tensor>& values) const {
    return on_replicas(values,
                       [op](const ReplicaContext& context, const Tensor& own) { return context.all_reduce(op, own); });
  }
};

inline std::string text_of(const testing::TestParamInfo<std::tuple<int, CrossDeviceOps>>& info) {
  std::string ops(name(std::get<1>(info.param)));
  std::replace(ops.begin(), ops.end(), '-', '_');
  return std::to_string(std::get<0>(info.param)) + "_" + ops;
}

}  // namespace lockstep::test

#define INSTANTIATE_OVER_REPLICAS_AND_OPS(suite)                                                         \
  INSTANTIATE_TEST_SUITE_P(All, suite,                                                                   \
                           testing::Combine(testing::ValuesIn(::lockstep::test::replica_counts),         \
                                            testing::ValuesIn(::lockstep::test::host_cross_device_ops)), \
                           ::lockstep::test::text_of)
