#include "lockstep/strategy/update/gradient_wire.h"

#include <lockstep/kernels/elementwise/elementwise_kernels.h>

namespace lockstep {
namespace {

Tensor view_of(const Tensor& flat, const FlatRange& range) { return flat.slice_view(0, range.begin, range.end); }

}  // namespace

GpuPart GradientWire::part_of(int replica, const FlatViews& views, std::span<const FlatRange> ranges,
                              std::size_t range) {
  const auto own = static_cast<std::size_t>(replica);
  const FlatRange& elements = ranges[range];
  void* place = views.gradients[own] + elements.begin;
  if (dtype_ != DType::f32) {
    const ContextScope there(context_on(gpus_[own]));
    Tensor& copies = copies_[own];
    const std::int64_t length = ranges.back().end;
    if (!copies.defined() || copies.elements() < length) copies = Tensor::empty({length}, dtype_);
    const Tensor part = view_of(copies, elements);
    launch(kernels::Convert{view_of(views.own, elements), part});
    place = part.raw_data();
  }
  return {
      .dtype = dtype_, .from = place, .to = place, .elements = static_cast<std::size_t>(elements.end - elements.begin)};
}

void GradientWire::finish(int replica, const FlatViews& views, std::span<const FlatRange> ranges) const {
  if (dtype_ == DType::f32) return;
  const auto own = static_cast<std::size_t>(replica);
  const ContextScope there(context_on(gpus_[own]));
  for (const FlatRange& range : ranges)
    launch(kernels::Convert{view_of(copies_[own], range), view_of(views.own, range)});
}

}  // namespace lockstep
