#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <support/expect_error.h>
#include <support/tensors.h>

#include <lockstep/kernels/elementwise/elementwise_functions.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/kernels/update/update_kernels.h>

namespace lockstep::test {
namespace {

constexpr ReduceOp all_ops[] = {ReduceOp::sum, ReduceOp::mean, ReduceOp::max, ReduceOp::min, ReduceOp::prod};

template <class T>
using ReplicaVectors = std::vector<std::vector<T>>;

/// Writes the reduction of all `in` to every out[k].
template <class T>
void reduce(ReduceOp op, const ReplicaVectors<T>& in, ReplicaVectors<T>& out, std::int64_t terms = 0) {
  std::vector<const T*> from;
  std::vector<T*> to;
  for (const auto& v : in) from.push_back(v.data());
  for (auto& v : out) to.push_back(v.data());
  const auto count = static_cast<std::int64_t>(in.empty() ? 0 : in[0].size());
  kernels::run_on_cpu(kernels::Reduce{op, ReduceViews<T>{from, to, count, terms}});
}

template <class T>
std::vector<T> reduced(ReduceOp op, const ReplicaVectors<T>& in) {
  ReplicaVectors<T> out(1, std::vector<T>(in[0].size()));
  reduce(op, in, out);
  return out[0];
}

/// Numbers from -20 to 20 in steps of 1/8 (of 1 for integers), which all dtypes hold exactly.
template <class T>
ReplicaVectors<T> numbers(std::size_t replicas, std::int64_t n) {
  ReplicaVectors<T> result;
  for (std::size_t r = 0; r < replicas; ++r) {
    std::vector<T> values;
    for (const double value : random_tensor({n}, 1 + static_cast<unsigned>(r), -160, 160).to_vector<double>())
      values.push_back(convert_element<T>(
          static_cast<float>(std::is_integral_v<T> ? std::round(value / 8) : std::round(value) / 8)));
    result.push_back(std::move(values));
  }
  return result;
}

template <class T>
double reference(ReduceOp op, const ReplicaVectors<T>& in, std::size_t i) {
  double result = convert_element<double>(in[0][i]);
  for (std::size_t r = 1; r < in.size(); ++r) {
    const double next = convert_element<double>(in[r][i]);
    result = op == ReduceOp::max    ? std::max(result, next)
             : op == ReduceOp::min  ? std::min(result, next)
             : op == ReduceOp::prod ? result * next
                                    : result + next;
  }
  return op == ReduceOp::mean ? result / static_cast<double>(in.size()) : result;
}

template <class T>
void expect_reference(ReduceOp op, std::size_t replicas, std::int64_t n) {
  const ReplicaVectors<T> in = numbers<T>(replicas, n);
  ReplicaVectors<T> out(replicas, std::vector<T>(static_cast<std::size_t>(n)));
  reduce(op, in, out);
  for (std::size_t i = 0; i < out[0].size(); ++i) {
    const double expected = reference(op, in, i);
    // Products round once for each factor; sums of these numbers are exact up to the last rounding.
    const double allowed = tolerance(dtype_of<T>, static_cast<std::int64_t>(replicas), std::abs(expected));
    ASSERT_NEAR(convert_element<double>(out[0][i]), expected, allowed) << name(op) << " of " << replicas << " at " << i;
    for (const auto& copy : out)
      ASSERT_EQ(convert_element<double>(copy[i]), convert_element<double>(out[0][i])) << "copies differ at " << i;
  }
}

TEST(Reduce, CombinesAnyNumberOfReplicasIntoAllOutputs) {
  for (const ReduceOp op : all_ops)
    for (const std::size_t replicas : {1U, 2U, 3U, 5U, 8U})
      for (const std::int64_t n : {0, 1, 31, 1024, 2500}) {
        expect_reference<float>(op, replicas, n);
        expect_reference<bfloat16>(op, replicas, n);
        if (op == ReduceOp::mean) continue;
        if (op != ReduceOp::prod || replicas <= 5) expect_reference<std::int32_t>(op, replicas, n);  // 20^8 overflows
        expect_reference<std::int64_t>(op, replicas, n);
      }
}

TEST(Reduce, WorksInPlace) {
  ReplicaVectors<float> in_place = numbers<float>(3, 3000);
  const std::vector<float> sum = reduced(ReduceOp::sum, in_place);
  reduce(ReduceOp::sum, ReplicaVectors<float>(in_place), in_place);
  for (const auto& copy : in_place) EXPECT_EQ(copy, sum);
}

/// Large results are written with non-temporal stores, also if they begin and end within a cache line.
template <class T>
void expect_sum_of_large_ranges() {
  const std::int64_t n = (std::int64_t{5} << 20) / static_cast<std::int64_t>(sizeof(T));
  const ReplicaVectors<T> in = numbers<T>(2, n);
  const std::vector<T> sum = reduced(ReduceOp::sum, in);
  const auto around = convert_element<T>(100.0F);  // larger than any sum
  ReplicaVectors<T> out(2, std::vector<T>(in[0].size() + 64, around));
  const std::vector<const T*> from{in[0].data(), in[1].data()};
  const std::vector<T*> to{out[0].data() + 1, out[1].data() + 37};
  kernels::run_on_cpu(kernels::Reduce{ReduceOp::sum, ReduceViews<T>{from, to, n}});
  for (std::size_t k = 0; k < 2; ++k) {
    const std::int64_t begin = to[k] - out[k].data();
    for (std::int64_t i = 0; i < std::ssize(out[k]); ++i) {
      const bool inside = i >= begin && i < begin + n;
      const T expected = inside ? sum[static_cast<std::size_t>(i - begin)] : around;
      ASSERT_EQ(convert_element<double>(out[k][static_cast<std::size_t>(i)]), convert_element<double>(expected)) << i;
    }
  }
}

TEST(Reduce, WritesLargeRangesWhole) {
  expect_sum_of_large_ranges<float>();
  expect_sum_of_large_ranges<bfloat16>();
  expect_sum_of_large_ranges<std::int64_t>();
}

TEST(Reduce, AddsInTheOrderOfReplicas) {
  EXPECT_EQ(reduced<float>(ReduceOp::sum, {{1e8F}, {-1e8F}, {1.0F}})[0], 1.0F);
  EXPECT_EQ(reduced<float>(ReduceOp::sum, {{1.0F}, {1e8F}, {-1e8F}})[0], 0.0F);
}

TEST(Reduce, RoundsBfloat16Once) {
  // 256 + 1 + 1 = 258 is a bf16; adding in bf16 would round each 257 back to 256.
  const std::vector<bfloat16> small{bfloat16(1.0F)};
  EXPECT_EQ(static_cast<float>(reduced<bfloat16>(ReduceOp::sum, {{bfloat16(256.0F)}, small, small})[0]), 258.0F);
}

TEST(Reduce, IntegersWrapAround) {
  const auto most = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(reduced<std::int32_t>(ReduceOp::sum, {{most}, {1}})[0], std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(reduced<std::int64_t>(ReduceOp::prod, {{std::int64_t{1} << 62}, {4}})[0], 0);
  EXPECT_EQ(reduced<std::int64_t>(ReduceOp::sum, {{(std::int64_t{1} << 53) + 1}, {1}})[0], (std::int64_t{1} << 53) + 2);
}

TEST(Reduce, AMeanOfPartialSumsDividesByTheNumberOfTerms) {
  const ReplicaVectors<float> sums = {{3, 6}, {4, 6}};
  ReplicaVectors<float> out(2, std::vector<float>(2));
  reduce(ReduceOp::mean, sums, out, 5);
  EXPECT_EQ(out[1], (std::vector<float>{7.0F / 5.0F, 12.0F / 5.0F}));
}

TEST(Reduce, KeepsNan) {
  const float nan = std::nanf("");
  for (const ReduceOp op : all_ops) {
    const std::vector<float> result = reduced<float>(op, {{nan, 1, 2}, {0, nan, 3}});
    EXPECT_TRUE(std::isnan(result[0]) && std::isnan(result[1])) << name(op);
    EXPECT_FALSE(std::isnan(result[2])) << name(op);
  }
}

TEST(Reduce, RefusesWhatHasNoResult) {
  // semantics 12.23: mean of an integer
  ReplicaVectors<std::int32_t> integers(2, std::vector<std::int32_t>(1));
  EXPECT_ERROR(InvalidArgument, "the mean of i32 values need not be a whole number",
               reduce(ReduceOp::mean, integers, integers));
  EXPECT_ERROR(InvalidArgument, "at least one replica",
               kernels::run_on_cpu(kernels::Reduce{ReduceOp::sum, ReduceViews<float>{}}));
  EXPECT_ERROR(InvalidArgument, "got u8", check_reducible(ReduceOp::sum, DType::u8));
}

TEST(ParseReduceOp, TakesNamesInAnyCase) {
  // TF case 29: ops given as text
  for (const ReduceOp op : all_ops) EXPECT_EQ(parse_reduce_op(name(op)), op);
  EXPECT_EQ(parse_reduce_op("SUM"), ReduceOp::sum);
  EXPECT_EQ(parse_reduce_op("Mean"), ReduceOp::mean);
  // semantics 12.11: reduce_op unknown
  EXPECT_ERROR(InvalidArgument, "'average' is no reduction; choose sum, mean, max, min or prod",
               parse_reduce_op("average"));
}

}  // namespace
}  // namespace lockstep::test
