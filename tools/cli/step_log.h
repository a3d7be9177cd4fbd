#pragma once

#include <fstream>
#include <string>

#include <lockstep/models/training/callback.h>

namespace lockstep::cli {

/// Writes one JSON object per training step, as it happens: the file is of use while training goes on and after a
/// crash.
class StepLog final : public Callback {
 public:
  /// Throws InputError when the file cannot be written.
  explicit StepLog(const std::string& path);
  bool chief_only() const override { return true; }
  void on_step_end(Model& model, const StepReport& report) override;

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace lockstep::cli
