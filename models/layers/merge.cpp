#include "lockstep/models/layers/merge.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/array/elementwise.h>
#include <lockstep/kernels/op/broadcast.h>
#include <lockstep/models/layers/layer_checks.h>
#include <lockstep/models/layers/layer_config.h>

namespace lockstep {
namespace {

void check_at_least_two(std::string_view layer, std::span<const Shape> inputs) {
  require(inputs.size() >= 2, "{} takes at least two inputs, got {}", layer, inputs.size());
}

void list(LayerConfig& config, ConcatenateOptions& options) {
  std::int64_t axis = options.axis;
  config.option("axis", axis);
  options.axis = static_cast<int>(axis);
}

void list(LayerConfig&, NoOptions&) {}

class ConcatenateImpl final : public LayerImpl {
 public:
  explicit ConcatenateImpl(const ConcatenateOptions& options)
      : LayerImpl(options.name,
                  {.can_compute_in_bf16 = true, .can_be_captured = true, .joins_last_axis = options.axis == -1}),
        axis_(options.axis) {
    require(axis_ != 0, "Concatenate joins any axis but the batch axis, 0");
  }

  std::string_view class_name() const override { return "Concatenate"; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    check_at_least_two(class_name(), inputs);
    const Shape& first = inputs[0];
    const int axis = axis_ < 0 ? axis_ + first.rank() : axis_ - 1;
    require(axis >= 0 && axis < first.rank(), "Concatenate has no axis {} to join in (batch) + {}", axis_, first);
    Shape result = first;
    for (const Shape& input : inputs.subspan(1)) {
      bool agrees = input.rank() == first.rank();
      for (int i = 0; agrees && i < first.rank(); ++i) agrees = i == axis || input[i] == first[i];
      require(agrees, "Concatenate needs inputs that agree in all but {}, got {} and {}",
              axis_ == -1 ? "the last axis" : "the joined axis", first, input);
      result[axis] += input[axis];
    }
    return result;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override { return concat(inputs, axis_); }
  void describe(LayerConfig& config) const override { write_options(config, list, ConcatenateOptions{.axis = axis_}); }

 private:
  int axis_;
};

/// y = op(op(parts[0], parts[1]), parts[2]) ...
template <Tensor (*op)(const Tensor&, const Tensor&)>
Tensor folded(std::span<const Tensor> parts) {
  Tensor y = op(parts[0], parts[1]);
  for (const Tensor& part : parts.subspan(2)) y = op(y, part);
  return y;
}

Tensor sum_of(std::span<const Tensor> parts) {
  const bool alike = std::ranges::all_of(parts, [&](const Tensor& part) { return part.shape() == parts[0].shape(); });
  return alike ? add_n(parts) : folded<add>(parts);
}

Tensor mean_of(std::span<const Tensor> parts) { return sum_of(parts) / static_cast<double>(parts.size()); }

struct Merge {
  const char* class_name;
  Tensor (*combine)(std::span<const Tensor> parts);  ///< parts of one rank
  bool is_add = false;
  bool takes_two = false;  ///< and no more
};

/// A layer that combines its inputs element by element.
class MergeImpl final : public LayerImpl {
 public:
  MergeImpl(const Merge& merge, std::string name)
      : LayerImpl(std::move(name), {.can_compute_in_bf16 = true, .can_be_captured = true, .is_add = merge.is_add}),
        merge_(merge) {}

  std::string_view class_name() const override { return merge_.class_name; }

  Shape output_shape(std::span<const Shape> inputs) const override {
    require(!merge_.takes_two || inputs.size() == 2, "{} takes two inputs, got {}", class_name(), inputs.size());
    check_at_least_two(class_name(), inputs);
    Shape result = inputs[0];
    for (const Shape& input : inputs.subspan(1)) result = broadcast_shape(merge_.class_name, result, input);
    return result;
  }

  Tensor call(std::span<const Tensor> inputs, const LayerCall&) override {
    int rank = 0;
    for (const Tensor& x : inputs) rank = std::max(rank, x.rank());
    std::vector<Tensor> parts;
    for (const Tensor& x : inputs) parts.push_back(of_rank(rank, x));
    return merge_.combine(parts);
  }

  void describe(LayerConfig& config) const override { write_options(config, list, NoOptions()); }

 private:
  /// x (n, ...) with axes of size 1 after the batch axis.
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

Concatenate::Concatenate(const ConcatenateOptions& options) : Layer(std::make_shared<ConcatenateImpl>(options)) {}

Concatenate Concatenate::from_config(LayerConfig& config) {
  return Concatenate(read_options<ConcatenateOptions>(config, list));
}

Add::Add(std::string name)
    : Layer(std::make_shared<MergeImpl>(Merge{.class_name = "Add", .combine = sum_of, .is_add = true},
                                        std::move(name))) {}

Add Add::from_config(LayerConfig& config) { return Add(read_options<NoOptions>(config, list).name); }

Average::Average(std::string name)
    : Layer(std::make_shared<MergeImpl>(Merge{.class_name = "Average", .combine = mean_of}, std::move(name))) {}

Average Average::from_config(LayerConfig& config) { return Average(read_options<NoOptions>(config, list).name); }

Maximum::Maximum(std::string name)
    : Layer(std::make_shared<MergeImpl>(Merge{.class_name = "Maximum", .combine = folded<maximum>}, std::move(name))) {}

Maximum Maximum::from_config(LayerConfig& config) { return Maximum(read_options<NoOptions>(config, list).name); }

Minimum::Minimum(std::string name)
    : Layer(std::make_shared<MergeImpl>(Merge{.class_name = "Minimum", .combine = folded<minimum>}, std::move(name))) {}

Minimum Minimum::from_config(LayerConfig& config) { return Minimum(read_options<NoOptions>(config, list).name); }

Multiply::Multiply(std::string name)
    : Layer(
          std::make_shared<MergeImpl>(Merge{.class_name = "Multiply", .combine = folded<multiply>}, std::move(name))) {}

Multiply Multiply::from_config(LayerConfig& config) { return Multiply(read_options<NoOptions>(config, list).name); }

Subtract::Subtract(std::string name)
    : Layer(std::make_shared<MergeImpl>(Merge{.class_name = "Subtract", .combine = folded<subtract>, .takes_two = true},
                                        std::move(name))) {}

Subtract Subtract::from_config(LayerConfig& config) { return Subtract(read_options<NoOptions>(config, list).name); }

}  // namespace lockstep
