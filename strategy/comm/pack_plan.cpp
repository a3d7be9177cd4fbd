#include "lockstep/strategy/comm/pack_plan.h"

#include <map>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/layout.h>

namespace lockstep {
namespace {

std::int64_t bytes_of(const Tensor& tensor) {
  return tensor.elements() * static_cast<std::int64_t>(size_of(tensor.dtype()));
}

/// Calls visit(i, place) for each tensor i of `pack`, where `place` is a view of the tensor's elements in `whole`.
template <class Visit>
void for_each_place(const Tensor& whole, std::span<const Tensor> values, const Pack& pack, const Visit& visit) {
  std::int64_t begin = 0;
  for (const std::size_t i : pack) {
    const std::int64_t end = begin + values[i].elements();
    visit(i, whole.slice_view(0, begin, end).view(values[i].shape()));
    begin = end;
  }
}

}  // namespace

std::vector<Pack> plan_packs(std::span<const Tensor> values, std::int64_t bytes_per_pack) {
  struct Open {
    std::size_t pack = 0;
    std::int64_t bytes = 0;
  };
  std::vector<Pack> packs;
  std::map<DType, Open> open_by_dtype;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [at, is_first] = open_by_dtype.try_emplace(values[i].dtype());
    Open& open = at->second;
    if (is_first || (bytes_per_pack > 0 && open.bytes > bytes_per_pack)) {
      open = {packs.size(), 0};
      packs.emplace_back();
    }
    packs[open.pack].push_back(i);
    open.bytes += bytes_of(values[i]);
  }
  return packs;
}

Tensor pack_up(std::span<const Tensor> values, const Pack& pack) {
  if (pack.size() == 1) return make_dense(values[pack.front()]);
  std::int64_t elements = 0;
  for (const std::size_t i : pack) elements += values[i].elements();
  const Tensor whole = Tensor::empty({elements}, values[pack.front()].dtype());
  for_each_place(whole, values, pack, [&](std::size_t i, const Tensor& place) {
    launch(kernels::Convert{values[i], place});
  });
  return whole;
}

void unpack(const Tensor& packed, std::span<const Tensor> values, const Pack& pack, std::span<Tensor> results) {
  if (pack.size() == 1) {
    results[pack.front()] = packed;
    return;
  }
  for_each_place(packed, values, pack, [&](std::size_t i, const Tensor& place) { results[i] = place; });
}

}  // namespace lockstep
