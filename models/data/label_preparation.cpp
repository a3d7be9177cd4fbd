#include "lockstep/models/data/label_preparation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <lockstep/kernels/indexing/one_hot.h>
#include <lockstep/models/data/device_constant.h>
#include <lockstep/models/data/element_draws.h>
#include <lockstep/runtime/data/host_context.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

template <class T>
Tensor one_hot_of(const Tensor& labels, std::int64_t classes) {
  Shape shape = labels.shape();
  shape.push_back(classes);
  const ContextScope host(detail::host_context());
  Tensor result = Tensor::zeros(shape);
  float* row = result.data<float>();
  for (const T label : labels.span<T>()) {
    const auto place = static_cast<std::int64_t>(label);
    require<InputError>(place >= 0 && place < classes, "label {} is not in 0 to {}", place, classes - 1);
    row[place] = 1;
    row += classes;
  }
  return result;
}

/// Draws from Beta(alpha, alpha) by Joehnk's method (1964). Computes in logarithms, since powers of 1 / alpha underflow
/// for a small alpha.
double draw_beta(double alpha, ElementDraws& draws) {
  alpha = std::max(alpha, 1e-300);  // smaller ones also give 0 or 1, but infinite quotients
  while (true) {
    const double a = std::log(draws.uniform()) / alpha;
    const double b = std::log(draws.uniform()) / alpha;
    if (std::exp(a) + std::exp(b) <= 1) return 1 / (1 + std::exp(b - a));
  }
}

/// A random permutation of 0 to count - 1 (Fisher-Yates).
std::vector<std::int64_t> draw_order(std::int64_t count, ElementDraws& draws) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(left)))]);
  return order;
}

Tensor mix(const Tensor& rows, const std::vector<std::int64_t>& order, float lambda) {
  Tensor result = Tensor::empty(rows.shape(), DType::f32, detail::host_context().device);
  const std::int64_t row = rows.elements() / rows.dim(0);
  const float* from = rows.span<float>().data();
  float* to = result.data<float>();
  parallel_for<LoopThreads::onetbb>(rows.dim(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float* other = from + order[static_cast<std::size_t>(i)] * row;
      for (std::int64_t j = i * row; j < (i + 1) * row; ++j)
        to[j] = lambda * from[j] + (1 - lambda) * other[j - i * row];
    }
  });
  return result;
}

}  // namespace

RowTransform one_hot(std::int64_t classes) {
  require(classes >= 1, "one_hot() needs at least 1 class, got {}", classes);
  return RowTransform([classes](const Example& example) {
    const Tensor& y = example.y();
    require(y.defined() && (y.dtype() == DType::u8 || y.dtype() == DType::i32 || y.dtype() == DType::i64),
            "labels for one_hot() must be u8, i32 or i64, got {}", y);
    if (is_on_gpu(y)) return example.with_y(one_hot(y, classes, /*axis=*/-1));
    if (y.dtype() == DType::u8) return example.with_y(one_hot_of<std::uint8_t>(y, classes));
    if (y.dtype() == DType::i32) return example.with_y(one_hot_of<std::int32_t>(y, classes));
    return example.with_y(one_hot_of<std::int64_t>(y, classes));
  });
}

std::function<Example(const Example&, const ElementId&)> mixup(const MixupOptions& options) {
  require(options.alpha > 0 && options.alpha <= 4, "mixup() needs an alpha above 0 and at most 4, got {}",
          options.alpha);
  return [options](const Example& batch, const ElementId& id) {
    const Tensor& x = batch.x();
    const Tensor& y = batch.y();
    for (const Tensor& tensor : {x, y})
      require(tensor.defined() && tensor.rank() >= 1 && tensor.dtype() == DType::f32,
              "mixup() needs batches of f32 x and y, got {} and {}; use one_hot() for labels", x, y);
    require(batch.inputs.size() == 1 && batch.targets.size() == 1 && batch.sample_weights.empty(),
            "mixup() mixes batches of one input and one target without sample weights");
    require(x.dim(0) == y.dim(0), "x {} and y {} of a batch need equally many rows", x, y);
    if (x.dim(0) == 0) return batch;
    ElementDraws draws(options.seed, DrawStream::mixup, id);
    const auto lambda = static_cast<float>(draw_beta(options.alpha, draws));
    const std::vector<std::int64_t> order = draw_order(x.dim(0), draws);
    return Example{{mix(x, order, lambda)}, {mix(y, order, lambda)}};
  };
}

}  // namespace lockstep
