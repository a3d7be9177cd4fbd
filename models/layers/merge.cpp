#include "lockstep/models/layers/merge.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/comparison.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/array/shapes.h>
#include <lockstep/kernels/op/broadcast.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>
#include <lockstep/models/layers/layer_of.h>

namespace lockstep {
namespace {

void check_at_least_two(std::string_view layer, std::span<const Shape> inputs) {
  require(inputs.size() >= 2, "{} takes at least two inputs, got {}", layer, inputs.size());
}

/// y = op(op(parts[0], parts[1]), parts[2]) ...
template <Tensor (*op)(const Tensor&, const Tensor&)>
Tensor folded(std::span<const Tensor> parts) {
  Tensor y = op(parts[0], parts[1]);
  for (const Tensor& part : parts.subspan(2)) y = op(y, part);
  return y;
}

class ConcatenateImpl final : public LayerOf<ConcatenateOptions> {
 public:
  explicit ConcatenateImpl(const ConcatenateOptions& options)
      : LayerOf("Concatenate", options,
                {.can_compute_in_bf16 = true,
                 .can_be_captured = true,
                 .concatenated_axis = options.axis,
                 .supports_masking = true}) {
    require(options.axis != 0, "Concatenate joins any axis but the batch axis, 0");
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    check_at_least_two(class_name(), inputs);
    const Shape& first = inputs[0];
    const int axis = options_.axis < 0 ? options_.axis + first.rank() : options_.axis - 1;
    require(axis >= 0 && axis < first.rank(), "Concatenate has no axis {} to join in (batch) + {}", options_.axis,
            first);
    Shape result = first;
    for (const Shape& input : inputs.subspan(1)) {
      bool agrees = input.rank() == first.rank();
      for (int i = 0; agrees && i < first.rank(); ++i) agrees = i == axis || input[i] == first[i];
      require(agrees, "Concatenate needs inputs that agree in all but {}, got {} and {}",
              options_.axis == -1 ? "the last axis" : "the joined axis", first, input);
      result[axis] += input[axis];
    }
    return result;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return concatenate(inputs, options_.axis); }

  /// Along the last axis, true for the steps at which at least one input is not masked; along another axis, the
  /// concatenated masks. An input without a mask counts as not masked.
  Tensor compute_mask(std::span<const Tensor> inputs, std::span<const Tensor> masks) const override {
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Shape& shape = inputs[i].shape();
      const Shape steps(std::span(shape.begin(), shape.end() - 1));
      parts.push_back(masks[i].defined() ? masks[i] : Tensor::full(steps, 1, DType::boolean));
      require(parts[i].shape() == steps, "Concatenate needs a mask of shape {} for an input {}, got {}", steps, shape,
              masks[i]);
    }
    const int axis = options_.axis;
    const int last = inputs[0].rank() - 1;
    return axis == -1 || axis == last ? folded<logical_or>(parts) : concatenate(parts, axis < 0 ? axis + 1 : axis);
  }
};

/// Like folded(), but at each time step without the parts that are masked there, or with all parts if all are masked.
/// `masks`: see LayerCall::masks.
template <Tensor (*op)(const Tensor&, const Tensor&)>
Tensor folded_unmasked(std::span<const Tensor> parts, std::span<const Tensor> masks) {
  const auto mask_of = [&](std::size_t i) { return masks[i].defined() ? expand_dims(masks[i], -1) : Tensor(); };
  Tensor y = parts[0];
  Tensor mask = mask_of(0);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Tensor own = mask_of(i);
    const Tensor x = own.defined() ? where(own, parts[i], y) : parts[i];
    if (mask.defined()) y = where(mask, y, x);
    mask = mask.defined() && own.defined() ? logical_or(mask, own) : Tensor();
    y = op(y, x);
  }
  return y;
}

/// At each time step, the product of the parts that are not masked there, or 0 if all are masked.
Tensor product_unmasked(std::span<const Tensor> parts, std::span<const Tensor> masks) {
  std::vector<Tensor> factors;
  Tensor kept;
  bool all_have_masks = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    all_have_masks = all_have_masks && masks[i].defined();
    const Tensor mask = masks[i].defined() ? expand_dims(masks[i], -1) : Tensor();
    factors.push_back(mask.defined() ? where(mask, parts[i], 1) : parts[i]);
    if (all_have_masks) kept = kept.defined() ? logical_or(kept, mask) : mask;
  }
  const Tensor y = folded<multiply>(factors);
  return all_have_masks ? where(kept, y, 0) : y;
}

Tensor sum_of(std::span<const Tensor> parts) {
  const bool alike = std::ranges::all_of(parts, [&](const Tensor& part) { return part.shape() == parts[0].shape(); });
  return alike ? add_n(parts) : folded<add>(parts);
}

Tensor mean_of(std::span<const Tensor> parts) { return sum_of(parts) / static_cast<double>(parts.size()); }

struct Merge {
  const char* class_name;
  Tensor (*combine)(std::span<const Tensor> parts);  ///< takes parts of equal rank
  /// Like `combine`, but without the parts that are masked; null if masks make no difference.
  Tensor (*combine_unmasked)(std::span<const Tensor> parts, std::span<const Tensor> masks) = nullptr;
  bool is_add = false;
  bool takes_two = false;  ///< whether there must be exactly two inputs
};

/// A layer that combines its inputs element by element.
class MergeImpl final : public LayerImpl {
 public:
  MergeImpl(const Merge& merge, std::string name)
      : LayerImpl(
            std::move(name),
            {.can_compute_in_bf16 = true, .can_be_captured = true, .is_add = merge.is_add, .supports_masking = true}),
        merge_(merge) {}

  std::string_view class_name() const override { return merge_.class_name; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    require(!merge_.takes_two || inputs.size() == 2, "{} takes two inputs, got {}", class_name(), inputs.size());
    check_at_least_two(class_name(), inputs);
    Shape result = inputs[0];
    for (const Shape& input : inputs.subspan(1)) result = broadcast_shape(merge_.class_name, result, input);
    return result;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    int rank = 0;
    for (const Tensor& x : inputs) rank = std::max(rank, x.rank());
    std::vector<Tensor> parts;
    for (const Tensor& x : inputs) parts.push_back(of_rank(rank, x));
    if (merge_.combine_unmasked != nullptr && !call.masks.empty()) return merge_.combine_unmasked(parts, call.masks);
    return merge_.combine(parts);
  }

  /// True for the steps at which at least one input is not masked. Undefined if an input has no mask.
  Tensor compute_mask(std::span<const Tensor>, std::span<const Tensor> masks) const override {
    Tensor mask = masks[0];
    for (const Tensor& other : masks.subspan(1))
      mask = mask.defined() && other.defined() ? logical_or(mask, other) : Tensor();
    return mask;
  }

  void describe(LayerConfig& /*config*/) const override {}

 private:
  /// x (n, ...) with axes of size 1 inserted after the batch axis to make its rank `rank`.
  static Tensor of_rank(int rank, const Tensor& x) {
    if (x.rank() == rank) return x;
    Shape shape{x.dim(0)};
    while (shape.rank() < rank - x.rank() + 1) shape.push_back(1);
    for (int axis = 1; axis < x.rank(); ++axis) shape.push_back(x.dim(axis));
    return reshape(x, shape);
  }

  Merge merge_;
};

}  // namespace

void ConcatenateOptions::describe(LayerConfig& config) { config.option("axis", axis); }

Concatenate::Concatenate(const ConcatenateOptions& options) : Layer(std::make_shared<ConcatenateImpl>(options)) {}

Add::Add(std::string name)
    : Layer(std::make_shared<MergeImpl>(Merge{.class_name = "Add", .combine = sum_of, .is_add = true},
                                        std::move(name))) {}

Average::Average(std::string name)
    : Layer(std::make_shared<MergeImpl>(Merge{.class_name = "Average", .combine = mean_of}, std::move(name))) {}

Maximum::Maximum(std::string name)
    : Layer(std::make_shared<MergeImpl>(
          Merge{.class_name = "Maximum", .combine = folded<maximum>, .combine_unmasked = folded_unmasked<maximum>},
          std::move(name))) {}

Minimum::Minimum(std::string name)
    : Layer(std::make_shared<MergeImpl>(
          Merge{.class_name = "Minimum", .combine = folded<minimum>, .combine_unmasked = folded_unmasked<minimum>},
          std::move(name))) {}

Multiply::Multiply(std::string name)
    : Layer(std::make_shared<MergeImpl>(
          Merge{.class_name = "Multiply", .combine = folded<multiply>, .combine_unmasked = product_unmasked},
          std::move(name))) {}

Subtract::Subtract(std::string name)
    : Layer(std::make_shared<MergeImpl>(Merge{.class_name = "Subtract", .combine = folded<subtract>, .takes_two = true},
                                        std::move(name))) {}

}  // namespace lockstep
