#pragma once

#include <vector>

#include <lockstep/kernels/convolution/conv2d.h>
#include <lockstep/runtime/core/shape.h>

namespace lockstep::test {

struct Conv2dCase {
  Shape x;
  Shape kernel;
  Conv2dOptions options{};
  bool bias = true;
};

const std::vector<Conv2dCase>& conv2d_cases();

}  // namespace lockstep::test
