#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <lockstep/runtime/data/dataset.h>
#include <lockstep/runtime/device/device.h>

namespace lockstep {

/// Tensors in the memory of the devices of this process's replicas, from which the rows of batches are taken; see
/// Dataset::row_numbers. Thread-safe.
class ResidentRows {
 public:
  /// devices[i] is the device of replica i.
  ResidentRows(RowTensors rows, std::vector<LogicalDevice> devices)
      : rows_(std::move(rows)), devices_(std::move(devices)) {}

  /// Copies the tensors to the devices if no earlier call has done so. Throws OutOfMemory and the errors of
  /// RowTensors::tensors. Throws InputError if RowTensors::tensors does not return RowTensors::rows rows.
  void load();
  /// The transformed rows of `numbers`, a batch of Dataset::row_numbers, on the device of `replica`. Consecutive rows
  /// that are not transformed are views. Throws whatever the transforms throw, and InvalidArgument if they change the
  /// number of rows. Precondition: loaded.
  Batch take(int replica, const Batch& numbers) const;

 private:
  RowTensors rows_;
  std::vector<LogicalDevice> devices_;
  std::once_flag loaded_;
  std::vector<Batch> on_devices_;  ///< by replica
};

/// The parts of a batch, each taken from ResidentRows when it is first needed: in the replica's step, on its thread.
/// Thread-safe.
class TakenRows {
 public:
  /// `numbers`: by replica, batches of Dataset::row_numbers.
  TakenRows(std::shared_ptr<const ResidentRows> rows, std::vector<Batch> numbers)
      : rows_(std::move(rows)), parts_(std::move(numbers)), taken_(new std::once_flag[parts_.size()]) {}

  /// The part of a replica. Throws the errors of ResidentRows::take, and std::out_of_range when there is no such
  /// replica.
  const Batch& part(int replica) const;
  /// All parts. Throws the same errors.
  const std::vector<Batch>& parts() const;

 private:
  std::shared_ptr<const ResidentRows> rows_;
  mutable std::vector<Batch> parts_;  ///< each part's row numbers until it is taken, then its rows
  std::unique_ptr<std::once_flag[]> taken_;
};

}  // namespace lockstep
