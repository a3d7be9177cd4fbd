#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <lockstep/models/layers/layer.h>

namespace lockstep {

/// Whether calls of this class can have initial states, `initial_state` in files.
inline bool is_recurrent(std::string_view class_name) {
  return class_name == "LSTM" || class_name == "GRU" || class_name == "SimpleRNN" || class_name == "Bidirectional";
}

/// A recurrent layer as Bidirectional uses it.
class RecurrentLayerImpl : public LayerImpl {
 public:
  ///@{
  /// Keras' options of these names.
  virtual bool go_backwards() const = 0;
  virtual bool return_sequences() const = 0;
  virtual bool return_state() const = 0;
  ///@}
  /// Number of states: 2 for an LSTM, else 1.
  virtual int states() const = 0;
  /// A new layer that is not built, with the same options except for name and direction. As in Keras, its results of
  /// masked steps are 0 if it returns sequences.
  virtual std::shared_ptr<RecurrentLayerImpl> copy(std::string name, bool go_backwards) const = 0;

 protected:
  using LayerImpl::LayerImpl;
};

}  // namespace lockstep
