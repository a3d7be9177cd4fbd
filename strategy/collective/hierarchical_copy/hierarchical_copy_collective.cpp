#include "lockstep/strategy/collective/hierarchical_copy/hierarchical_copy_collective.h"

#include <algorithm>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/collective/flat_range.h>
#include <lockstep/strategy/collective/places.h>

namespace lockstep {
namespace {

bool is_bf16(const Tensor& tensor) { return tensor.dtype() == DType::bf16; }

}  // namespace

HierarchicalCopyCollective::Members HierarchicalCopyCollective::group_of(int replica) const {
  const int first = (group().size() + 1) / 2;
  if (replica < first) return {0, 0, first};
  return {1, first, group().size() - first};
}

void HierarchicalCopyCollective::combine(int replica, ReduceOp op, std::span<const PackViews> packs) {
  post_wide(replica, packs);
  group().meet(replica, "the start of hierarchical copy");
  const std::vector<PackViews> wide = wide_packs();
  add_within_group(replica, op, wide);
  group().meet(replica, "the sums of hierarchical copy's groups");
  wide_[replica] = {};  // by now all have their views of it
  combine_across(replica, op, wide);
  if (std::none_of(packs.begin(), packs.end(), [](const PackViews& pack) { return is_bf16(pack.in.front()); })) return;
  group().meet(replica, "the end of hierarchical copy");
  for (std::size_t pack = 0; pack < packs.size(); ++pack)
    if (is_bf16(packs[pack].out[replica])) launch(kernels::Convert{wide[pack].out[replica], packs[pack].out[replica]});
}

void HierarchicalCopyCollective::post_wide(int replica, std::span<const PackViews> packs) {
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
  const Members members = group_of(replica);
  if (replica != members.begin) return;
  sums_[members.group].clear();
  for (const Tensor& value : own.in) sums_[members.group].push_back(Tensor::empty(value.shape(), value.dtype()));
}

std::vector<HostCollective::PackViews> HierarchicalCopyCollective::wide_packs() const {
  std::vector<PackViews> packs(wide_.front().in.size());
  for (std::size_t pack = 0; pack < packs.size(); ++pack)
    for (const Wide& wide : wide_) {
      packs[pack].in.push_back(wide.in[pack]);
      packs[pack].out.push_back(wide.out[pack]);
    }
  return packs;
}

void HierarchicalCopyCollective::add_within_group(int replica, ReduceOp op, std::span<const PackViews> packs) {
  const Members members = group_of(replica);
  for (std::size_t pack = 0; pack < packs.size(); ++pack) {
    const auto in = std::span(packs[pack].in).subspan(members.begin, members.size);
    const FlatRange share = shard_of({0, in.front().elements()}, replica - members.begin, members.size);
    reduce_range(op == ReduceOp::mean ? ReduceOp::sum : op, in, std::span(&sums_[members.group][pack], 1), share);
  }
}

void HierarchicalCopyCollective::combine_across(int replica, ReduceOp op, std::span<const PackViews> packs) {
  for (std::size_t pack = 0; pack < packs.size(); ++pack) {
    std::vector<Tensor> sums;
    for (int of = 0; of < groups(); ++of) sums.push_back(sums_[of][pack]);
    const FlatRange share = shard_of({0, sums.front().elements()}, replica, group().size());
    reduce_range(op, sums, packs[pack].out, share, group().size());
  }
}

void HierarchicalCopyCollective::reduce_and_update(int replica, const FlatViews& views,
                                                   std::span<const FlatRange> ranges, const UpdateFn& update) {
  {
    const PhaseTimer timer(Phase::reduce);
    const Members members = group_of(replica);
    Tensor& sums = gradient_sums_[members.group];
    std::int64_t end = 0;
    for (const FlatRange& range : ranges) end = std::max(end, range.end);
    if (replica == members.begin && (!sums.defined() || sums.elements() < end)) sums = Tensor::empty({end});
    group().meet(replica, gradients_place);
    add_gradients_within_group(replica, views, ranges);
    group().meet(replica, "the sums of hierarchical copy's groups");
  }
  {
    const PhaseTimer timer(Phase::update);
    std::vector<float*> sums;
    for (int of = 0; of < groups(); ++of) sums.push_back(gradient_sums_[of].data<float>());
    for (const FlatRange& range : ranges)
      update_range(update, {sums, views.parameters, views.state}, shard_of(range, replica, group().size()));
  }
  const PhaseTimer timer(Phase::reduce);
  group().meet(replica, "the end of the update");
}

void HierarchicalCopyCollective::add_gradients_within_group(int replica, const FlatViews& views,
                                                            std::span<const FlatRange> ranges) {
  const Members members = group_of(replica);
  const auto gradients = views.gradients.subspan(members.begin, members.size);
  for (const FlatRange& range : ranges) {
    const FlatRange share = shard_of(range, replica - members.begin, members.size);
    add_up_range(gradients, gradient_sums_[members.group].data<float>(), share);
  }
}

}  // namespace lockstep
