#pragma once

#include <compare>
#include <cstdint>

#include <lockstep/runtime/tensor/tensor.h>

// Computes recurrent layers in one call for all time steps, on devices that have a library for it.

namespace lockstep {

/// The kinds of recurrent layers, as defined in lstm.h and gru.h.
enum class RecurrentCell { lstm, gru };

/// The sizes of a recurrent layer and of its input.
struct RecurrentLayer {
  RecurrentCell cell;  ///< kind of the layer
  ///@{
  /// Examples (at least 0), time steps, input features and units (at least 1 each).
  std::int64_t n, time, features, units;
  ///@}

  /// Columns of a kernel per unit, for the gates and the candidate.
  std::int64_t gates() const { return cell == RecurrentCell::lstm ? 4 : 3; }
  /// Compares all members.
  friend auto operator<=>(const RecurrentLayer&, const RecurrentLayer&) = default;
};

/// A layer's weights, or their gradients, in the shapes of lstm.h and gru.h; dense.
struct RecurrentWeights {
  ///@{
  /// The arguments of lstm() and gru() with the same names.
  Tensor kernel, recurrent_kernel, bias;
  ///@}
};

/// Runs recurrent layers as a whole. Tensors are dense f32 unless noted. Time is the first axis, as in recurrence.h:
/// libraries would otherwise rearrange x, y and their gradients on each call.
class WholeRecurrence {
 public:
  virtual ~WholeRecurrence() = default;

  /// Operands and results of a forward pass, for `gradient`.
  struct ForwardRecord {
    RecurrentLayer layer;      ///< the layer
    Tensor x;                  ///< its input (time, n, features)
    RecurrentWeights weights;  ///< its weights
    Tensor y;                  ///< its result
    /// The memory that `run` returned. `gradient` may overwrite it if no other tensor shares its memory, and otherwise
    /// uses a copy.
    Tensor kept;
  };

  /// Whether this implementation supports the layer; the ops compute other layers step by step.
  virtual bool runs(const RecurrentLayer& layer) const = 0;
  ///@{
  /// Computes y (time, n, units), h after each step. If `keep`, returns the memory that `gradient` needs
  /// (ForwardRecord::kept), else an undefined tensor. If contracts are checked, both functions first check all
  /// operands, as kernels do (kernel.h).
  Tensor run(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights, bool keep, const Tensor& y);
  /// Computes dx (time, n, features) and dweights from dy (time, n, units). Skips the gradients whose tensors are
  /// undefined.
  void gradient(const ForwardRecord& record, const Tensor& dy, const Tensor& dx, const RecurrentWeights& dweights);
  ///@}

 protected:
  ///@{
  /// Implement `run` and `gradient`.
  virtual Tensor forward(const RecurrentLayer& layer, const Tensor& x, const RecurrentWeights& weights, bool keep,
                         const Tensor& y) = 0;
  virtual void backward(const ForwardRecord& record, const Tensor& dy, const Tensor& dx,
                        const RecurrentWeights& dweights) = 0;
  ///@}
};

/// The implementation for the calling thread's device; null if there is none. The ops then compute step by step, as on
/// CPUs.
WholeRecurrence* whole_recurrence();

}  // namespace lockstep
