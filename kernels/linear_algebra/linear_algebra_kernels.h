#pragma once

#include <lockstep/kernels/kernel.h>

namespace lockstep::kernels {

/// The singular value decomposition of matrices x (count, m, n), m >= n: u (count, m, n), s (count, n) and
/// vh (count, n, n), as described for lockstep::svd. Computes in f64.
struct SingularValues {
  Tensor x;
  Tensor u;
  Tensor s;
  Tensor vh;

  static constexpr const char* name = "singular_values";
  auto operands() const { return kernels::operands(x, u, s, vh); }
  template <class Executor>
  void run(Executor& on) const;
};

}  // namespace lockstep::kernels
