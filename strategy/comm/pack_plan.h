#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Numbers of the tensors that are combined as one.
using Pack = std::vector<std::size_t>;

/// Cuts tensors into packs of one dtype, in their order. A pack is closed once it holds more than `bytes_per_pack`, and
/// never when that is 0. Pure: all replicas get the same plan for the same shapes and dtypes.
std::vector<Pack> plan_packs(std::span<const Tensor> values, std::int64_t bytes_per_pack);

/// The tensors of a pack one after the other, flat; the only one of a pack as it is, made dense.
Tensor pack_up(std::span<const Tensor> values, const Pack& pack);
/// Puts views of `packed`, in the shapes of `values`, to the places of the pack's tensors.
void unpack(const Tensor& packed, std::span<const Tensor> values, const Pack& pack, std::span<Tensor> results);

}  // namespace lockstep
