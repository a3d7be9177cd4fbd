#pragma once

#include <optional>
#include <span>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Interface of layers that determine by themselves the shape of their result for inputs with unknown sizes. For other
/// layers, LayerImpl::output_shape is called with two sets of example sizes; the sizes in which the two results differ
/// are unknown.
class FindsUnknownShape {
 public:
  /// The shape of the result for inputs with unknown sizes; -1 stands for an unknown size in the inputs and in the
  /// result. If it returns nullopt, the shape is derived from output_shape, as for layers without this interface.
  /// Throws the same errors as LayerImpl::output_shape.
  virtual std::optional<Shape> unknown_output_shape(std::span<const Shape> inputs) const = 0;

 protected:
  ~FindsUnknownShape() = default;
};

/// Calls FindsUnknownShape::unknown_output_shape; returns nullopt for layers without this interface.
inline std::optional<Shape> unknown_output_shape(const LayerImpl& layer, std::span<const Shape> inputs) {
  const auto* const finds = dynamic_cast<const FindsUnknownShape*>(&layer);
  return finds != nullptr ? finds->unknown_output_shape(inputs) : std::nullopt;
}

}  // namespace lockstep
