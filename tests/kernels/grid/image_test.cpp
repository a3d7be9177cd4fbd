#include <lockstep/kernels/image/image_kernels.h>

#include "parity.h"

namespace lockstep::test {
namespace {

Tensor pixels(DType dtype) {
  const Tensor values = random_tensor({4, 6, 5, 3}, 1, 0, 255);
  const Tensor result = Tensor::empty(values.shape(), dtype);
  visit_dtype(dtype, [&]<class T>() {
    for (std::int64_t i = 0; i < values.elements(); ++i) result.span<T>()[i] = static_cast<T>(values.span<float>()[i]);
  });
  return result;
}

TEST(CropGrid, MatchesTheCpu) {
  const Tensor crops = Tensor::from(std::vector<float>{0,  0,     0,  0,      0, 0,   // as it is
                                                       -2, 0.25F, 3,  0.5F,   0, 1,   // beyond two borders
                                                       1,  0.75F, -9, 0,      1, 0,   // outside
                                                       20, 0,     -1, 0.125F, 1, 1},  // outside
                                    {4, 6});
  for (const DType dtype : {DType::u8, DType::i32, DType::f32})
    for (const FillMode mode : {FillMode::nearest, FillMode::constant, FillMode::reflect, FillMode::wrap})
      for (const Size2d size : {Size2d(6, 5), Size2d(3, 9)})
        expect_same({Tensor::full({4, size.height, size.width, 3}, 9, dtype)}, [&](const auto& run,
                                                                                   const Results& out) {
          run(kernels::CropAndFlip{pixels(dtype), crops, {.size = size, .fill_mode = mode, .fill_value = 77}, out[0]});
        });
}

TEST(ResizeGrid, MatchesTheCpu) {
  struct Sizes {
    Size2d from, to;
    std::int64_t channels;
  };
  const std::vector<Sizes> sizes{{{9, 7}, {20, 15}, 5},  // both axes, in both orders
                                 {{20, 9}, {9, 4}, 3},   {{7, 12}, {15, 5}, 20},
                                 {{12, 7}, {1, 16}, 64}, {{6, 9}, {13, 9}, 1},  // one axis
                                 {{6, 20}, {6, 9}, 65}};
  for (const Interpolation method : {Interpolation::nearest, Interpolation::bilinear, Interpolation::bicubic,
                                     Interpolation::lanczos3, Interpolation::lanczos5})
    for (const auto& [from, to, channels] : sizes)
      for (const DType dtype : real_dtypes)
        for (const bool antialias : {false, true}) {
          const Shape small{3, from.height, from.width, channels}, large{3, to.height, to.width, channels};
          const Tensor x = in_dtype(dtype, random_tensor(small, 1));
          const Tensor dy = in_dtype(dtype, random_tensor(large, 2));
          expect_same_results(dtype, {large, small}, [&](Runner run, Results& results) {
            run(kernels::Resize{x, method, antialias, false, results[0]});
            run(kernels::Resize{dy, method, antialias, true, results[1]});
          });
        }
}

}  // namespace
}  // namespace lockstep::test
