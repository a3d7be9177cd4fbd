#include "lockstep/strategy/comm/flat_range.h"

#include <algorithm>

#include <lockstep/kernels/update/reduce.h>
#include <lockstep/kernels/update/update_kernels.h>

namespace lockstep {
namespace {

std::vector<float*> advanced(std::span<float* const> pointers, std::int64_t offset) {
  std::vector<float*> result(pointers.begin(), pointers.end());
  for (float*& pointer : result) pointer += offset;
  return result;
}

}  // namespace

FlatRange shard_of(const FlatRange& range, int share, int shares) {
  constexpr std::int64_t line = 32;  // a cache line of the smallest elements: two replicas never write to one line
  const std::int64_t lines = (range.end - range.begin + line - 1) / line;
  const auto border = [&](int i) { return std::min(range.end, range.begin + lines * i / shares * line); };
  return {border(share), border(share + 1)};
}

void reduce_range(ReduceOp op, std::span<const Tensor> in, std::span<const Tensor> out, const FlatRange& range,
                  std::int64_t terms) {
  visit_reducible(op, in.front().dtype(), [&]<class T>() {
    std::vector<const T*> from;
    std::vector<T*> to;
    for (const Tensor& tensor : in) from.push_back(tensor.data<T>() + range.begin);
    for (const Tensor& tensor : out) to.push_back(tensor.data<T>() + range.begin);
    launch(kernels::Reduce{op, ReduceViews<T>{from, to, range.end - range.begin, terms}});
  });
}

void add_up_range(std::span<float* const> in, float* out, const FlatRange& range) {
  const std::vector<float*> from = advanced(in, range.begin);
  const std::vector<const float*> read_only(from.begin(), from.end());
  float* const to = out + range.begin;
  launch(kernels::Reduce{ReduceOp::sum, ReduceViews<float>{read_only, std::span(&to, 1), range.end - range.begin}});
}

}  // namespace lockstep
