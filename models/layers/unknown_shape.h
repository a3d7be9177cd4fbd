#pragma once

#include <optional>
#include <span>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// A layer that finds the shape of its result for inputs with unknown sizes itself. For other layers it follows from
/// LayerImpl::output_shape for two sets of example sizes.
class FindsUnknownShape {
 public:
  /// The shape of the result, with -1 for unknown sizes, for inputs that have some; empty if it follows as for other
  /// layers. Throws as LayerImpl::output_shape.
  virtual std::optional<Shape> unknown_output_shape(std::span<const Shape> inputs) const = 0;

 protected:
  ~FindsUnknownShape() = default;
};

/// FindsUnknownShape::unknown_output_shape; empty for other layers.
inline std::optional<Shape> unknown_output_shape(const LayerImpl& layer, std::span<const Shape> inputs) {
  const auto* const finds = dynamic_cast<const FindsUnknownShape*>(&layer);
  return finds != nullptr ? finds->unknown_output_shape(inputs) : std::nullopt;
}

}  // namespace lockstep
