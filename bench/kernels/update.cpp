#include <array>

#include <lockstep/kernels/update/update_kernels.h>

#include "kernels_bench.h"

namespace lockstep {
namespace {

constexpr std::int64_t parameters = 41'157'101;  // of zoo::mlp
constexpr std::size_t replicas = 2;

/// The flat memory of all replicas. Verifies the first step of some elements, and that the copies stay equal.
struct Update {
  OptimizerStep step;
  std::vector<Tensor> memory;
  std::vector<const float*> gradients;
  std::vector<float*> copies, state;

  explicit Update(const OptimizerStep& optimizer) : step(optimizer) {
    for (std::size_t i = 0; i < replicas; ++i) {
      gradients.push_back(allocate(i == 0 ? 0.5F : 0.25F));
      copies.push_back(allocate(1));
    }
    for (int i = 0; i < state_slots(step); ++i) state.push_back(allocate(0));
  }

  void run() const { kernels::run_on_cpu(kernels::Update{step, {gradients, copies, state, parameters}}); }
  /// Checks the first step, which moves each parameter by `distance` against its gradient.
  void verify_step(double distance) const {
    for (const std::int64_t i : {std::int64_t{0}, parameters / 3, parameters - 1})
      for (const float* const copy : copies) verify_element("update", copy[i], 1 - distance);
  }
  /// Bytes moved by an update: reads the gradients and the first copy, reads and writes the optimizer state, writes all
  /// copies.
  double bytes() const {
    const std::size_t touches = gradients.size() + 1 + copies.size() + 2 * state.size();
    return static_cast<double>(touches * sizeof(float)) * static_cast<double>(parameters);
  }

 private:
  float* allocate(float value) { return memory.emplace_back(Tensor::full({parameters}, value)).data<float>(); }
};

/// For `distance` see verify_step. Each element of the summed gradients is 0.75.
void add_update(const char* name, const OptimizerStep& step, double distance) {
  benchmark::RegisterBenchmark((std::string("update/") + name + "/41M").c_str(), [=](benchmark::State& state) {
    const Update update(step);
    update.run();
    update.verify_step(distance);
    time_bytes(state, update.bytes(), [&] { update.run(); });
  });
}

}  // namespace

void add_updates() {
  add_update("sgd_momentum", SgdStep{.learning_rate = 0.1F, .momentum = 0.9F}, 0.075);
  add_update("adam", AdamStep{.learning_rate = 0.1F}, 0.1);
}

}  // namespace lockstep
