#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include <lockstep/models/training/model.h>

// The state of a model, for the sources of this folder only.

namespace lockstep {

/// How fit was asked to end; later enumerators take precedence.
enum class StopRequest { none, after_validation, at_once };

class Model::State {
 public:
  /// Set by compile().
  struct Compiled {
    Optimizer optimizer;
    CustomSteps steps;                    ///< the argument of compile()
    std::vector<OutputTraining> given;    ///< the arguments of compile(), by output
    std::vector<CompiledOutput> outputs;  ///< the outputs with their names in logs
    std::vector<Variable> trainable;      ///< the variables that were trainable
    bool has_trained_on_batch = false;    ///< whether train_on_batch() has made a step since compile()
  };

  State(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, const ModelOptions& options,
        const std::string& class_name, std::shared_ptr<const State> saved = nullptr);

  /// Throws LogicError, naming `caller`, before compile.
  const Compiled& require_compiled(const char* caller) const;
  /// Same as above; also throws LogicError if compile() was given neither outputs nor a test_step.
  const Compiled& require_evaluation(const char* caller) const;
  /// Throws LogicError, naming `caller`, if other variables are trainable now than in `then`.
  void require_trainable_as_in(const Compiled& then, const char* caller) const;
  /// Throws LogicError, naming `caller`, in the scope of a strategy that is not the model's.
  void require_own_scope(const char* caller) const;
  /// The model that files store: this one, or the template of a ParallelModel.
  const State& saved() const { return saved_as ? saved_as->saved() : *this; }
  const Network& saved_network() const { return saved().network; }

  const Network network;
  const std::string name;
  const std::shared_ptr<const NestedModel> nested;  ///< description of this model for models that contain it
  const std::shared_ptr<const State> saved_as;      ///< the model that files store in place of this one, or null
  std::optional<Compiled> compiled;
  std::uint64_t next_pass = 0;  ///< number of the pass over the data with which the next fit() begins
  std::atomic<StopRequest> stop{StopRequest::none};
};

}  // namespace lockstep
