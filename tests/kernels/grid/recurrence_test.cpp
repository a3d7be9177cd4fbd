#include <gtest/gtest.h>

#include <lockstep/kernels/recurrence/recurrence_kernels.h>

#include "parity.h"

namespace lockstep::test {
namespace {

struct Size {
  std::int64_t n, units;
};

const std::vector<Size> state_sizes{{1, 1}, {3, 7}, {10, 64}};

TEST(GridRecurrence, LstmStep) {
  for (const auto& [n, units] : state_sizes) {
    const Tensor gates = random_tensor({n, 4 * units}, 1, -2, 2);
    const Tensor recurrent = random_tensor({n, 4 * units}, 2, -2, 2);
    const Tensor c_before = random_tensor({n, units}, 3);
    const Tensor nothing = Tensor::zeros({n, units});
    expect_same(Results{gates, nothing, nothing}, [&](const Runner& run, const Results& out) {
      run(kernels::LstmStep{out[0], recurrent, c_before, out[1], out[2]});
    });
    const Tensor dh = random_tensor({n, units}, 4);
    const Tensor dc = random_tensor({n, units}, 5);
    const Tensor c = random_tensor({n, units}, 6);
    expect_same(Results{dc, gates}, [&](const Runner& run, const Results& out) {
      run(kernels::LstmStepGradient{gates, c_before, c, dh, out[0], out[1]});
    });
  }
}

TEST(GridRecurrence, GruStep) {
  for (const auto& [n, units] : state_sizes) {
    const Tensor gates = random_tensor({n, 3 * units}, 1, -2, 2);
    const Tensor recurrent = random_tensor({n, 3 * units}, 2, -2, 2);
    const Tensor h_before = random_tensor({n, units}, 3);
    const Tensor nothing = Tensor::zeros({n, units});
    expect_same(Results{gates, nothing, nothing}, [&](const Runner& run, const Results& out) {
      run(kernels::GruStep{out[0], recurrent, h_before, out[1], out[2]});
    });
    const Tensor dh = random_tensor({n, units}, 4);
    const Tensor state_sum = random_tensor({n, units}, 5);
    expect_same(Results{dh, gates, recurrent}, [&](const Runner& run, const Results& out) {
      run(kernels::GruStepGradient{gates, state_sum, h_before, out[0], out[1], out[2]});
    });
  }
}

}  // namespace
}  // namespace lockstep::test
