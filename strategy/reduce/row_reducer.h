#pragma once

#include <cstdint>
#include <vector>

#include <lockstep/runtime/tensor/indexed_slices.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/core/variable.h>

namespace lockstep {

/// What an optimizer's steps need.
struct ReducerOptions {
  /// The start of each value that the optimizer keeps for each parameter.
  std::vector<float> slots{};
  /// For each variable whether its gradients are rows of it; empty: none's are.
  std::vector<bool> by_rows{};
  /// A step also moves rows whose gradient is 0, as one with momentum does.
  bool every_row = true;
  /// GradientUpdate::updates_own_copy of the replicas.
  bool own_copies = false;
};

/// The part of a GradientReducer for parameters of which a step looks up rows, such as embedding tables: their
/// gradients are exchanged as IndexedSlices and never made dense as a whole, and replica by replica each updates its
/// share of the rows in every copy. Rows are added up in the order of the replicas: to the same bits as dense gradients
/// where those are.
class RowReducer {
 public:
  /// Moves the tables' copies to memory of its own; their values stay.
  RowReducer(std::vector<Variable> tables, const std::vector<LogicalDevice>& devices, const ReducerOptions& options);

  /// False once another optimizer has taken one of the tables over.
  bool holds_variables() const;
  /// As GradientReducer::state, where each replica has its own of that replica.
  const Tensor& state(int table, std::size_t slot, std::size_t replica) const {
    return tables_[static_cast<std::size_t>(table)].state.at(replica).at(slot);
  }
  /// As GradientReducer::set_state.
  void set_state(int table, std::size_t slot, const Tensor& value) const;
  /// This replica's gradient of table number `table`: rows, none, or, of a table that was read as a whole too, dense.
  /// Throws InvalidArgument for rows that the table does not have.
  void load(int replica, int table, const DenseOrSparse& gradient);
  /// Keeps this replica's gradients, to be added to the next ones.
  void accumulate(int replica);
  /// Sums the replicas' gradients and updates every copy. Every replica has to call it.
  void apply(const ReplicaContext& context, const UpdateFn& update);

 private:
  struct Table {
    Variable variable;
    const void* memory;  ///< of the first copy
    /// (rows, width) for each slot: once, or by replica where each updates its own copy.
    std::vector<std::vector<Tensor>> state;
    std::vector<DenseOrSparse> gradients;    ///< by replica
    std::vector<DenseOrSparse> accumulated;  ///< by replica; undefined: nothing
  };

  void update_share(Table& table, int replica, int replicas, const DenseOrSparse& gradient, const UpdateFn& update);

  std::vector<Table> tables_;
  bool every_row_;
  bool own_copies_;
};

}  // namespace lockstep
