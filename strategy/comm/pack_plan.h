#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// Indices of the tensors that are combined as one tensor.
using Pack = std::vector<std::size_t>;

/// Groups tensors of the same dtype into packs, in their order. A pack is closed once it holds more than
/// `bytes_per_pack` bytes; 0: no limit. Deterministic: all replicas get the same plan for the same shapes and dtypes.
std::vector<Pack> plan_packs(std::span<const Tensor> values, std::int64_t bytes_per_pack);

/// Concatenates the tensors of a pack into one flat tensor. For a pack of one tensor, returns that tensor, made dense.
Tensor pack_up(std::span<const Tensor> values, const Pack& pack);
/// Sets the results of the pack's tensors to views of `packed`, in the shapes of `values`.
void unpack(const Tensor& packed, std::span<const Tensor> values, const Pack& pack, std::span<Tensor> results);

}  // namespace lockstep
