#pragma once

#include <functional>

#include <lockstep/models/training/callback.h>

namespace lockstep {

/// The functions that a LambdaCallback calls; empty ones are skipped.
struct LambdaCallbackOptions {
  ///@{
  /// See the functions of the same names in Callback.
  std::function<void(Model&)> on_train_begin{};
  std::function<void(Model&, const EpochPlan&)> on_epoch_begin{};
  std::function<void(Model&, std::int64_t batch)> on_train_batch_begin{};
  std::function<void(Model&, const StepReport&)> on_train_batch_end{};
  std::function<void(Model&, int epoch, const Logs&)> on_epoch_end{};
  std::function<void(Model&)> on_train_end{};
  std::function<void(Model&)> on_test_begin{};
  std::function<void(Model&, std::int64_t batch)> on_test_batch_begin{};
  std::function<void(Model&, const TestBatchReport&)> on_test_batch_end{};
  std::function<void(Model&, const Logs&)> on_test_end{};
  std::function<void(Model&)> on_predict_begin{};
  std::function<void(Model&, std::int64_t batch)> on_predict_batch_begin{};
  std::function<void(Model&, const PredictBatchReport&)> on_predict_batch_end{};
  std::function<void(Model&)> on_predict_end{};
  ///@}
};

/// Calls the given functions.
class LambdaCallback final : public Callback {
 public:
  /// Stores the functions.
  explicit LambdaCallback(LambdaCallbackOptions functions) : functions_(std::move(functions)) {}

  void on_train_begin(Model& model) override { call(functions_.on_train_begin, model); }
  void on_epoch_begin(Model& model, const EpochPlan& plan) override { call(functions_.on_epoch_begin, model, plan); }
  void on_train_batch_begin(Model& model, std::int64_t batch) override {
    call(functions_.on_train_batch_begin, model, batch);
  }
  void on_train_batch_end(Model& model, const StepReport& report) override {
    call(functions_.on_train_batch_end, model, report);
  }
  void on_epoch_end(Model& model, int epoch, const Logs& logs) override {
    call(functions_.on_epoch_end, model, epoch, logs);
  }
  void on_train_end(Model& model) override { call(functions_.on_train_end, model); }
  void on_test_begin(Model& model) override { call(functions_.on_test_begin, model); }
  void on_test_batch_begin(Model& model, std::int64_t batch) override {
    call(functions_.on_test_batch_begin, model, batch);
  }
  void on_test_batch_end(Model& model, const TestBatchReport& report) override {
    call(functions_.on_test_batch_end, model, report);
  }
  void on_test_end(Model& model, const Logs& logs) override { call(functions_.on_test_end, model, logs); }
  void on_predict_begin(Model& model) override { call(functions_.on_predict_begin, model); }
  void on_predict_batch_begin(Model& model, std::int64_t batch) override {
    call(functions_.on_predict_batch_begin, model, batch);
  }
  void on_predict_batch_end(Model& model, const PredictBatchReport& report) override {
    call(functions_.on_predict_batch_end, model, report);
  }
  void on_predict_end(Model& model) override { call(functions_.on_predict_end, model); }

 private:
  template <class Function, class... Args>
  static void call(const Function& function, Args&... args) {
    if (function) function(args...);
  }

  LambdaCallbackOptions functions_;
};

}  // namespace lockstep
