#include "lockstep/strategy/input/resident_rows.h"

#include <algorithm>
#include <span>

#include <lockstep/kernels/indexing/take.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/context.h>

namespace lockstep {
namespace {

/// Rows of tensors on the thread's device.
Batch rows_of_tensors(const Batch& tensors, const Tensor& numbers) {
  const std::span<const std::int64_t> chosen = numbers.span<std::int64_t>();
  const bool consecutive =
      std::ranges::adjacent_find(chosen, [](std::int64_t a, std::int64_t b) { return b != a + 1; }) == chosen.end();
  if (consecutive && numbers.rank() == 1)
    return tensors.each([&](const Tensor& tensor) { return tensor.slice_view(0, chosen.front(), chosen.back() + 1); });
  const Tensor here = to_current_device(numbers);
  return tensors.each([&](const Tensor& tensor) { return take(tensor, here, 0); });
}

std::vector<ElementId> ids_of(const Tensor& ids) {
  std::vector<ElementId> result;
  const std::vector<std::int64_t> values = ids.to_vector<std::int64_t>();
  for (std::size_t i = 0; i + 1 < values.size(); i += 2)
    result.push_back({.epoch = static_cast<std::uint64_t>(values[i]), .number = values[i + 1]});
  return result;
}

/// The numbers of row 0, as an example of shapes and dtypes.
Batch first_row(const Batch& no_numbers) {
  return no_numbers.each([](const Tensor& none) {
    Shape shape = none.shape();
    shape[0] = 1;
    const Tensor zeros = Tensor::empty(shape, none.dtype(), none.device());
    std::ranges::fill(zeros.span<std::int64_t>(), 0);
    return zeros;
  });
}

}  // namespace

void ResidentRows::load() {
  std::call_once(loaded_, [&] {
    const Batch host = rows_.tensors();
    require<InputError>(host.x().defined() && host.size() == rows_.rows, "cache_on_devices: {} rows became {}",
                        rows_.rows, host.x());
    std::vector<Batch> copies;
    for (const LogicalDevice& device : devices_) try {
        const ContextScope there(context_on(device));
        copies.push_back(host.each([&](const Tensor& tensor) { return reachable_from(device, tensor); }));
      } catch (Error& error) {
        error.add_context("cache_on_devices");
        throw;
      }
    on_devices_ = std::move(copies);
  });
}

Batch ResidentRows::take(int replica, const Batch& numbers) const {
  if (numbers.size() == 0)
    return take(replica, first_row(numbers)).each([](const Tensor& row) { return row.slice_view(0, 0, 0); });
  const ContextScope there(context_on(devices_[static_cast<std::size_t>(replica)]));
  Batch rows = rows_of_tensors(on_devices_[static_cast<std::size_t>(replica)], numbers.x());
  std::size_t ids = 0;  // the last input with ids that has been used
  for (const auto& transform : rows_.transforms)
    if (const auto* const by_row = std::get_if<RowTransform>(&transform))
      rows = (*by_row)(rows);
    else
      rows = std::get<RandomTransform>(transform).of_rows(rows, ids_of(numbers.inputs[++ids]));
  require(rows.size() == numbers.size(),
          "{} row(s) of a batch became {}: a RowTransform gives as many rows as it is given", numbers.size(),
          rows.size());
  return rows;
}

const Batch& TakenRows::part(int replica) const {
  const auto own = static_cast<std::size_t>(replica);
  Batch& part = parts_.at(own);
  std::call_once(taken_[own], [&] { part = rows_->take(replica, part); });
  return part;
}

const std::vector<Batch>& TakenRows::parts() const {
  for (std::size_t replica = 0; replica < parts_.size(); ++replica) part(static_cast<int>(replica));
  return parts_;
}

}  // namespace lockstep
