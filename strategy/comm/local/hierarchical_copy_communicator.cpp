#include "lockstep/strategy/comm/local/hierarchical_copy_communicator.h"

#include <algorithm>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {
namespace {

bool is_bf16(const Tensor& tensor) { return tensor.dtype() == DType::bf16; }

}  // namespace

HalfOfReplicas half_of(int replica, int replicas) {
  const int first = (replicas + 1) / 2;
  if (replica < first) return {0, 0, first};
  return {1, first, replicas - first};
}

void HierarchicalCopyCommunicator::combine(int replica, ReduceOp op, std::span<const PackViews> packs) {
  post_wide(replica, packs);
  group().barrier(replica, "the start of hierarchical copy");
  const std::vector<PackViews> wide = wide_packs();
  add_within_group(replica, op, wide);
  group().barrier(replica, "the sums of hierarchical copy's groups");
  wide_[replica] = {};  // all replicas have their own views of it by now
  combine_across(replica, op, wide);
  if (std::none_of(packs.begin(), packs.end(), [](const PackViews& pack) { return is_bf16(pack.in.front()); })) return;
  group().barrier(replica, "the end of hierarchical copy");
  for (std::size_t pack = 0; pack < packs.size(); ++pack)
    if (is_bf16(packs[pack].out[replica])) launch(kernels::Convert{wide[pack].out[replica], packs[pack].out[replica]});
}

void HierarchicalCopyCommunicator::post_wide(int replica, std::span<const PackViews> packs) {
  Wide& own = wide_[replica];
  own = {};
  for (const PackViews& pack : packs) {
    own.in.push_back(pack.in[replica]);
    own.out.push_back(pack.out[replica]);
    if (!is_bf16(pack.in[replica])) continue;
    own.in.back() = Tensor::empty(pack.in[replica].shape());
    own.out.back() = Tensor::empty(pack.out[replica].shape());
    launch(kernels::Convert{pack.in[replica], own.in.back()});
  }
  const HalfOfReplicas members = half_of(replica, group().size());
  if (replica != members.begin) return;
  sums_[members.number].clear();
  for (const Tensor& value : own.in) sums_[members.number].push_back(Tensor::empty(value.shape(), value.dtype()));
}

std::vector<HostCommunicator::PackViews> HierarchicalCopyCommunicator::wide_packs() const {
  std::vector<PackViews> packs(wide_.front().in.size());
  for (std::size_t pack = 0; pack < packs.size(); ++pack)
    for (const Wide& wide : wide_) {
      packs[pack].in.push_back(wide.in[pack]);
      packs[pack].out.push_back(wide.out[pack]);
    }
  return packs;
}

void HierarchicalCopyCommunicator::add_within_group(int replica, ReduceOp op, std::span<const PackViews> packs) {
  const HalfOfReplicas members = half_of(replica, group().size());
  for (std::size_t pack = 0; pack < packs.size(); ++pack) {
    const auto in = std::span(packs[pack].in).subspan(members.begin, members.size);
    const FlatRange share = shard_of({0, in.front().elements()}, replica - members.begin, members.size);
    reduce_range(op == ReduceOp::mean ? ReduceOp::sum : op, in, std::span(&sums_[members.number][pack], 1), share);
  }
}

void HierarchicalCopyCommunicator::combine_across(int replica, ReduceOp op, std::span<const PackViews> packs) {
  for (std::size_t pack = 0; pack < packs.size(); ++pack) {
    std::vector<Tensor> sums;
    for (int of = 0; of < halves_of(group().size()); ++of) sums.push_back(sums_[of][pack]);
    const FlatRange share = shard_of({0, sums.front().elements()}, replica, group().size());
    reduce_range(op, sums, packs[pack].out, share, group().size());
  }
}

}  // namespace lockstep
