#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <lockstep/models/files/hdf5_file.h>
#include <lockstep/models/training/model.h>

// The parts of a run's state that backups and checkpoints have in common. Tensors are data sets of an HDF5 file, under
// a prefix; everything else is in a JSON object. Saving is collective: every worker must call the functions that save.

namespace lockstep {

class RandomDraws;

/// The name of the saved state in error messages of collectives between workers.
inline constexpr const char* saved_state_place = "the saved state of a training run";

///@{
/// A number as JSON. Infinities and NaN, which JSON lacks, become text.
nlohmann::json to_json(double value);
double to_number(const nlohmann::json& json);
nlohmann::json to_json(const std::vector<double>& values);
std::vector<double> to_numbers(const nlohmann::json& list);
///@}

/// Reads a tensor that one of the functions below has written.
Tensor read_tensor(const hdf5::Reader& file, const std::string& name);
/// Throws InputError, naming the file, if the saved run had another number of weights, layers, ... (`saved`) than this
/// run (`own`). `what` is what was counted, e.g. "weights".
void check_saved_count(const hdf5::Reader& file, std::size_t saved, std::size_t own, const std::string& what);

/// The stored state of variables. The constructor reads and checks all of it, so that set() cannot fail.
class SavedVariables {
 public:
  /// Writes one copy of each on_write variable and all copies of each on_read variable to "PREFIXweights/", and the
  /// copies' weights (VariableState::copy_weights) to `json`. Throws InvalidArgument for variables that are not f32.
  static void save(hdf5::Writer& file, const std::string& prefix, nlohmann::json& json, const Strategy& strategy,
                   const std::vector<Variable>& variables);
  /// If the state is from another number of replicas, every copy of a variable gets the value that the variable had
  /// outside replicas. Throws InputError, naming the file and the mismatch, if the state does not fit the variables.
  SavedVariables(const hdf5::Reader& file, const std::string& prefix, const nlohmann::json& json,
                 const Strategy& strategy, std::vector<Variable> variables);
  /// Sets all copies of the variables.
  void set() const;

 private:
  std::vector<Variable> variables_;
  std::vector<std::vector<Tensor>> values_;        ///< by variable, then by copy
  std::vector<std::vector<double>> copy_weights_;  ///< for variables with Synchronization::on_read
};

/// For each replica of all workers, the number of draws of random numbers that it has made (its position in the
/// sequence); empty if `draws` is null.
std::vector<std::uint64_t> kept_draws(const Strategy& strategy, const RandomDraws* draws);
/// The positions in the sequences of random numbers from which this process' replicas continue. `kept` is the saved
/// run's kept_draws; if that run had another number of replicas, all replicas continue from the largest position.
/// Throws InputError, naming the file and `what`, if the saved run has draws and this one has none, or the reverse.
std::vector<std::uint64_t> local_draws(const hdf5::Reader& file, const Strategy& strategy,
                                       const std::vector<std::uint64_t>& kept, const RandomDraws* draws,
                                       const std::string& what);

/// The stored state of a model: its variables and the positions of its layers in their sequences of random numbers. The
/// constructor reads and checks all of it, so that set() cannot fail.
class SavedModel {
 public:
  /// Writes the variables to "PREFIXweights/", everything else to `json`.
  static void save(hdf5::Writer& file, const std::string& prefix, nlohmann::json& json, const Model& model);
  /// Throws the errors of SavedVariables' constructor. Also throws InputError if the model and the saved model differ
  /// in the number of layers, in a layer's dtype policy or in the number of a layer's sequences of random numbers.
  SavedModel(const hdf5::Reader& file, const std::string& prefix, const nlohmann::json& json, const Model& model);
  /// Sets the model's state.
  void set() const;

 private:
  Model model_;
  SavedVariables variables_;
  std::vector<std::vector<std::uint64_t>> draws_;  ///< by layer, then by replica of this process
};

/// The stored state of an optimizer.
class SavedOptimizer {
 public:
  /// Writes the slots to "PREFIXoptimizer/", everything else to `json`.
  static void save(hdf5::Writer& file, const std::string& prefix, nlohmann::json& json, const OptimizerState& state);
  /// Throws InputError for a tensor that is missing.
  SavedOptimizer(const hdf5::Reader& file, const std::string& prefix, const nlohmann::json& json);
  /// Calls Optimizer::load_state. Throws its errors.
  void set(const Optimizer& optimizer) const { optimizer.load_state(state_); }

 private:
  OptimizerState state_;
};

}  // namespace lockstep
