#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <lockstep/kernels/elementwise/elementwise_functions.h>

#include "replicas_and_ops.h"

// All cross-device ops compared with a serial reference: the same bits, for all dtypes, ops, sizes and numbers of
// replicas.

namespace lockstep {
namespace {

constexpr std::int64_t largest = 1'000'003;
constexpr std::int64_t sizes[] = {0, 1, 7, 1024, largest};
constexpr ReduceOp all_ops[] = {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::min, ReduceOp::prod};

/// Values of 8 replicas, created once: real numbers from -2 to 2, integers from -1000 to 1000 (products overflow).
template <class T>
const std::vector<Tensor>& values_of_all() {
  static const std::vector<Tensor> all = [] {
    std::vector<Tensor> made;
    std::mt19937 generator(7);
    for (int replica = 0; replica < 8; ++replica) {
      made.push_back(Tensor::empty({largest}, dtype_of<T>));
      for (T& value : made.back().template span<T>()) {
        const std::uint32_t random = generator();
        if constexpr (std::is_integral_v<T>)
          value = static_cast<T>(random % 2001) - 1000;
        else
          value = T(static_cast<float>(random) / 1073741824.0F - 2.0F);
      }
    }
    return made;
  }();
  return all;
}

/// The type in which values of each dtype are computed.
template <class T>
using Computed = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;

template <class A>
A combined(ReduceOp op, A a, A b) {
  if (op == ReduceOp::max) return std::max(a, b);
  if (op == ReduceOp::min) return std::min(a, b);
  if constexpr (std::is_integral_v<A>) {
    A result;  // modulo 2^bits
    if (op == ReduceOp::prod)
      static_cast<void>(__builtin_mul_overflow(a, b, &result));
    else
      static_cast<void>(__builtin_add_overflow(a, b, &result));
    return result;
  } else {
    return op == ReduceOp::prod ? a * b : a + b;
  }
}

/// Reduces element i of replicas [begin, end), one after the other.
template <class T>
Computed<T> serial(ReduceOp op, std::size_t begin, std::size_t end, std::int64_t i) {
  const auto at = [i](std::size_t r) { return static_cast<Computed<T>>(values_of_all<T>()[r].template data<T>()[i]); };
  Computed<T> result = at(begin);
  for (std::size_t r = begin + 1; r < end; ++r) result = combined(op, result, at(r));
  return result;
}

template <class T>
std::vector<T> reference(ReduceOp op, CrossDeviceOps ops, std::size_t replicas, std::int64_t size) {
  const std::size_t first_group = ops == CrossDeviceOps::hierarchical_copy ? (replicas + 1) / 2 : replicas;
  std::vector<T> result;
  for (std::int64_t i = 0; i < size; ++i) {
    Computed<T> all = serial<T>(op, 0, first_group, i);
    if (first_group < replicas) all = combined(op, all, serial<T>(op, first_group, replicas, i));
    if (op == ReduceOp::mean) all /= static_cast<Computed<T>>(replicas);
    result.push_back(static_cast<T>(all));
  }
  return result;
}

class Equality : public test::ReplicasAndOps {
 protected:
  template <class T>
  void expect_reference(ReduceOp op, std::int64_t size) const {
    const auto values = test::per_replica(replicas_, [size](int replica) {
      return values_of_all<T>()[static_cast<std::size_t>(replica)].slice_view(0, 0, size);
    });
    const std::vector<T> expected = reference<T>(op, ops_, static_cast<std::size_t>(replicas_), size);
    const auto results = all_reduce(op, values);
    for (int replica = 0; replica < replicas_; ++replica) {
      ASSERT_EQ(results[replica].shape(), Shape({size}));
      ASSERT_EQ(results[replica].dtype(), dtype_of<T>);
      if (size == 0) continue;
      EXPECT_EQ(std::memcmp(results[replica].on_host().raw_data(), expected.data(), expected.size() * sizeof(T)), 0)
          << name(op) << " of " << size << " " << name(dtype_of<T>) << " on replica " << replica;
    }
  }
  template <class T>
  void expect_reference_of_all_ops() const {
    for (const ReduceOp op : all_ops) {
      if (std::is_integral_v<T> && op == ReduceOp::mean) continue;
      for (const std::int64_t size : sizes)
        if (size < largest || op == ReduceOp::sum) expect_reference<T>(op, size);
    }
  }
};

TEST_P(Equality, OfF32) { expect_reference_of_all_ops<float>(); }
TEST_P(Equality, OfBf16) { expect_reference_of_all_ops<bfloat16>(); }
TEST_P(Equality, OfI32) { expect_reference_of_all_ops<std::int32_t>(); }
TEST_P(Equality, OfI64) { expect_reference_of_all_ops<std::int64_t>(); }

INSTANTIATE_OVER_REPLICAS_AND_OPS(Equality);

}  // namespace
}  // namespace lockstep
