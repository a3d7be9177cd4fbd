#pragma once

#include <cstdint>
#include <vector>

#include <lockstep/runtime/tensor/indexed_slices.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/core/variable.h>

namespace lockstep {

/// The properties of an optimizer that a GradientReducer needs.
struct ReducerOptions {
  /// Initial value of each of the optimizer's slots. A slot is a state tensor of the optimizer, such as the momentum,
  /// with one element for each element of the parameters.
  std::vector<float> slots{};
  /// For each variable, whether its gradients are exchanged by rows. Empty: false for all.
  std::vector<bool> by_rows{};
  /// Whether a step also changes rows whose gradient is 0, as steps with momentum do.
  bool every_row = true;
  /// Whether each replica updates its own copy; see GradientUpdate::updates_own_copy.
  bool own_copies = false;
};

/// The part of a GradientReducer for parameters whose rows a step looks up, such as embedding tables. Exchanges their
/// gradients as IndexedSlices, without making them dense, and lets each replica update its share of the rows in every
/// copy (with own_copies, all rows of its own copy). Sums each row's gradients in replica order, so results are
/// bit-identical to the results of dense gradients that are added in the same order.
class RowReducer {
 public:
  /// Moves the tables' copies to new memory and keeps their values. Throws the errors of check_optimizable.
  RowReducer(std::vector<Variable> tables, const std::vector<LogicalDevice>& devices, const ReducerOptions& options);

  /// Whether the tables are still in this object's memory; false once another optimizer has taken over one of the
  /// tables.
  bool holds_variables() const;
  /// Same as GradientReducer::state. With own_copies, each replica has its own state, and `replica` selects one of
  /// them; otherwise `replica` must be 0.
  const Tensor& state(int table, std::size_t slot, std::size_t replica) const {
    return tables_[static_cast<std::size_t>(table)].state.at(replica).at(slot);
  }
  /// Same as GradientReducer::set_state.
  void set_state(int table, std::size_t slot, const Tensor& value) const;
  /// Sets this replica's gradient of table number `table`: rows, undefined, or dense if the table was also read as a
  /// whole. Throws InvalidArgument for rows outside the table.
  void load(int replica, int table, const DenseOrSparse& gradient);
  /// Adds the gradients of the last load() to a sum that the next apply() includes. Call load() again before apply(),
  /// which otherwise adds these gradients a second time.
  void accumulate(int replica);
  /// Sums the replicas' gradients and applies `update` to every copy. All replicas must call it, after load() of every
  /// table.
  void apply(const ReplicaContext& context, const UpdateFn& update);

 private:
  struct Table {
    Variable variable;
    const void* memory;  ///< memory of the first copy
    /// By replica and slot, a tensor in the table's shape; without own_copies, all replicas share the first list.
    std::vector<std::vector<Tensor>> state;
    std::vector<DenseOrSparse> gradients;    ///< by replica
    std::vector<DenseOrSparse> accumulated;  ///< by replica; undefined if there are none
  };

  void update_share(Table& table, int replica, int replicas, const DenseOrSparse& gradient, const UpdateFn& update);

  std::vector<Table> tables_;
  bool every_row_;
  bool own_copies_;
};

}  // namespace lockstep
