#pragma once

#include <lockstep/kernels/kernel.h>
#include <lockstep/kernels/window/window.h>

namespace lockstep::kernels {

///@{
/// The functions of pool2d.h for x (n, h, w, c), f32 or bf16, and their gradients. y and dy have the layout "rows"
/// (is_rows). For each element of y, `indices` (dense u8 or i32 of y's shape) holds the position of the largest element
/// of the window: its row-major index among the elements of the window that are inside the image. `indices` may be
/// undefined in MaxPool2d.
struct MaxPool2d {
  Tensor x;
  Window2d window;
  Tensor y;
  Tensor indices;

  static constexpr const char* name = "max_pool2d";
  auto operands() const { return kernels::operands(x, y, indices); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

struct MaxPool2dGradient {
  Tensor indices;
  Window2d window;
  Tensor dy;
  Tensor dx;

  static constexpr const char* name = "max_pool2d_gradient";
  auto operands() const { return kernels::operands(indices, dy, dx); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

/// y = the elements of x at `indices`; computes second-order gradients.
struct MaxPool2dTaken {
  Tensor x;
  Tensor indices;
  Window2d window;
  Tensor y;

  static constexpr const char* name = "max_pool2d_taken";
  auto operands() const { return kernels::operands(x, indices, y); }
  template <class Executor>
  void run(Executor& on) const;
};

struct AveragePool2d {
  Tensor x;
  Window2d window;
  Tensor y;

  static constexpr const char* name = "average_pool2d";
  auto operands() const { return kernels::operands(x, y); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};

struct AveragePool2dGradient {
  Tensor dy;
  Window2d window;
  Tensor dx;

  static constexpr const char* name = "average_pool2d_gradient";
  auto operands() const { return kernels::operands(dy, dx); }
  template <class Executor>
  void run(Executor& on) const;
  void on_cpu() const;
};
///@}

}  // namespace lockstep::kernels
