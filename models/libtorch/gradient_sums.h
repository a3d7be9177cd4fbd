#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <torch/types.h>

#include <lockstep/strategy/core/strategy.h>
#include <lockstep/strategy/core/variable.h>
#include <lockstep/strategy/reduce/arena.h>
#include <lockstep/strategy/update/gradient_update.h>

namespace lockstep::libtorch {

/// Sums the gradients of a module's replicas during backward: when `backward` returns, `grad()` of each parameter is
/// the sum over the replicas of all processes. A hook on each parameter reports that its gradient is final; a bucket of
/// final gradients is exchanged while backward computes the others. If one backward passes through several modules, the
/// first module's gradients are exchanged during backward, and the other modules' gradients at the end of backward.
///
/// Gradients that all replicas have before backward, e.g. the sums of an earlier backward, count once in the result:
/// the first replica keeps them, and the other replicas drop theirs before libtorch adds to them.
class GradientSums : public std::enable_shared_from_this<GradientSums> {
  /// One parameter of one replica.
  struct Parameter {
    torch::Tensor value;
    torch::Tensor sum;           ///< a view of the arena; holds the replica's gradient, then the sum
    std::shared_ptr<void> node;  ///< keeps alive the autograd node that has the hooks
    bool local = false;          ///< whether a backward has added to grad() on this replica only, since the last sum
    bool had_sum = false;        ///< whether grad() was defined and equal on all replicas before `local` was set
    bool final = false;          ///< whether `sum` has its final gradient in this backward
  };

  /// Data of one replica, which only its thread uses.
  struct alignas(64) Own {
    std::vector<Parameter> parameters{};
    std::vector<int> left_in_bucket{};  ///< by bucket: number of gradients that are not final yet
    std::vector<char> used{};           ///< see used()
    int backward = -1;                  ///< libtorch's id of the running outermost backward; -1 if none is running
    int pauses = 0;
    int backwards = 0;  ///< see backwards()
  };

 public:
  /// Moves `variables` into an arena. Throws the same errors as ParameterArena.
  GradientSums(const Strategy& strategy, const std::vector<Variable>& variables);

  /// Adds hooks to the parameters of replica `replica`; `parameters` are in the order of the variables. Backward
  /// through the hooks throws LogicError
  /// - outside that replica, unless it is the only one;
  /// - while another replica sums the gradients of another module;
  /// - if called inside another backward that has already finished one of the same gradients or that sums only the
  ///   gradients of other modules.
  void attach(int replica, const std::vector<torch::Tensor>& parameters);
  /// Adds the hooks again if libtorch has dropped them, e.g. when it has loaded a parameter from a file.
  void renew_hooks(int replica);
  /// While a Pause exists, backward of its replica only adds to that replica's gradients. The next backward after the
  /// Pause also sums what was added.
  class Pause {
   public:
    /// `sums` must outlive this.
    Pause(GradientSums& sums, int replica) : own_(sums.own(replica)) { ++own_.pauses; }
    ~Pause() { --own_.pauses; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Own& own_;
  };
  /// Returns this replica's gradients for a caller that sums them itself, and makes grad() of the parameters undefined.
  /// A gradient is undefined if its variable has none. Counts as one of backwards().
  std::vector<torch::Tensor> take_unsummed(int replica);
  /// For each variable, whether the loss of any replica depended on it in the last backward of replica `replica` that
  /// summed gradients, or in a paused backward before it. Backward does not change the gradients of the other
  /// variables. After zero_grad() these gradients are undefined, so optimizers skip the parameters, as they do without
  /// replicas.
  const std::vector<char>& used(int replica) const { return own_.at(static_cast<std::size_t>(replica)).used; }
  /// Number of backwards of replica `replica` that have summed gradients, or whose gradients take_unsummed has taken.
  int backwards(int replica) const { return own_.at(static_cast<std::size_t>(replica)).backwards; }

 private:
  void add_hook(int replica, std::size_t variable);
  Own& own(int replica) { return own_.at(static_cast<std::size_t>(replica)); }
  void before_gradient(int replica, std::size_t variable);
  void on_gradient(int replica, std::size_t variable, bool added);
  void begin(int replica);
  void take(int replica, std::size_t variable);
  /// The gradients of all replicas, to be replaced by their sums.
  FlatViews views_of(int replica) const;
  void report_final(int replica, std::size_t bucket);
  void finish(int replica);

  Strategy strategy_;
  std::vector<Variable> variables_;
  ParameterArena arena_;  ///< use counts, one per variable of `variables_`, and then these variables
  std::vector<FlatRange> buckets_;
  std::vector<std::size_t> bucket_of_;  ///< by variable of the arena
  std::vector<int> variables_in_bucket_;
  std::vector<Own> own_;  ///< by replica
  std::string name_;      ///< name of the sums in error messages
};

}  // namespace lockstep::libtorch
