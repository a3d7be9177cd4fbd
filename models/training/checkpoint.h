#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <lockstep/models/training/model.h>

namespace lockstep {

class RandomDraws;

/// The state of a custom training loop, saved in a file, from which the loop can resume with bit-identical results.
/// Contains the objects that the program adds, each under its own name. With several workers, all of them must make the
/// same calls.
class Checkpoint {
 public:
  /// `strategy` is by default the calling thread's. Variables and models must belong to it.
  explicit Checkpoint(const Strategy& strategy = get_strategy()) : strategy_(strategy) {}

  ///@{
  /// Adds a model (its variables, with all replicas' copies if they differ, and the positions in its layers' sequences
  /// of random numbers), an optimizer, a variable, the position in the loop's own random numbers, or a number such as
  /// the count of epochs. Numbers and RandomDraws must outlive the checkpoint. Throws InvalidArgument for a name that
  /// is empty, is ".", contains '/' or is taken, for a model of another strategy, and for RandomDraws that were not
  /// started in the strategy's scope.
  Checkpoint& add(const std::string& name, const Model& model);
  Checkpoint& add(const std::string& name, const Optimizer& optimizer);
  Checkpoint& add(const std::string& name, const Variable& variable);
  Checkpoint& add(const std::string& name, RandomDraws& draws);
  Checkpoint& add(const std::string& name, std::int64_t& number);
  Checkpoint& add(const std::string& name, double& number);
  ///@}

  /// Writes the state of everything that was added. The chief writes the file, completely or not at all, and creates
  /// its folder when needed. Throws InputError, which names the file, if it cannot be written. Throws InvalidArgument
  /// for a variable that is not f32 and for a name that is not UTF-8, and LogicError in a replica.
  void write(const std::string& path) const;
  /// Restores everything that was added; if it throws, nothing has changed. If the file is from another number of
  /// replicas, every copy of a variable gets the value that the variable had outside replicas. Throws InputError, which
  /// names the file and the mismatch, if the file cannot be read, is damaged or has other names, variables or shapes.
  /// Throws LogicError in a replica. The slots of an optimizer that has made no step are checked only in its first
  /// step, which throws InvalidArgument if they do not match the optimizer.
  void read(const std::string& path) const;

  /// The strategy given to the constructor.
  const Strategy& strategy() const { return strategy_; }

 private:
  using Object = std::variant<Model, Optimizer, Variable, std::int64_t*, double*, RandomDraws*>;
  Checkpoint& add_object(const std::string& name, Object object);

  Strategy strategy_;
  std::map<std::string, Object> objects_;  ///< by name
};

/// CheckpointManager's options, with TensorFlow's names.
struct CheckpointManagerOptions {
  std::optional<int> max_to_keep = 5;    ///< number of newest checkpoints to keep; empty: all
  std::string checkpoint_name = "ckpt";  ///< files are named NAME-1.h5, NAME-2.h5, ...
};

/// Numbers the checkpoints in a folder, finds the latest and removes old ones. With several workers, all of them must
/// make the same calls and see the same folder.
class CheckpointManager {
 public:
  /// Finds the folder's checkpoints. The first `save` creates the folder. No other run may use the folder. Throws
  /// InvalidArgument for an empty directory, a max_to_keep below 1, a name that is empty or contains '/', and if
  /// workers see different checkpoints.
  CheckpointManager(const Checkpoint& checkpoint, std::string directory, const CheckpointManagerOptions& options = {});

  /// Writes a checkpoint with the next number and returns its path; then removes the oldest ones beyond max_to_keep.
  /// Throws the errors of Checkpoint::write, and InputError if the newest checkpoint has the largest 64-bit number.
  std::string save();
  /// The paths of the folder's checkpoints, oldest first.
  const std::vector<std::string>& checkpoints() const { return paths_; }
  /// The path of the newest checkpoint; empty if there is none.
  std::optional<std::string> latest_checkpoint() const;
  /// Restores the newest checkpoint and returns its path; empty if there is none. Throws the errors of
  /// Checkpoint::read.
  std::optional<std::string> restore_or_initialize() const;

 private:
  Checkpoint checkpoint_;
  std::string directory_;
  CheckpointManagerOptions options_;
  std::int64_t last_number_ = 0;
  std::vector<std::string> paths_;
};

}  // namespace lockstep
