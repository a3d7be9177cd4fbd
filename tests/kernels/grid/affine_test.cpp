#include <gtest/gtest.h>

#include <lockstep/kernels/image/image_kernels.h>

#include "parity.h"

// On the host these kernels have no other source, so only the program with the emulated GPU has these tests.

namespace lockstep::test {
namespace {

TEST(GridAffine, TransformsAndGradients) {
  const std::vector<float> elements{0.9F, -0.3F, 1.25F, 0.4F,  1.1F, -2,    0, 0,
                                    1.2F, 0.1F,  -3.5F, -0.2F, 0.8F, 1.75F, 0, 0};
  const Tensor transforms = Tensor::from(elements, {2, 8});
  for (const FillMode fill : {FillMode::nearest, FillMode::constant, FillMode::reflect, FillMode::wrap})
    for (const Interpolation method : {Interpolation::nearest, Interpolation::bilinear})
      for (const DType dtype : real_dtypes) {
        const Tensor x = in_dtype(dtype, random_tensor({2, 6, 7, 3}, 1));
        const AffineTransformOptions options{.interpolation = method, .fill_mode = fill, .fill_value = 0.25};
        expect_same_results(dtype, {{2, 6, 7, 3}}, [&](Runner run, Results& y) {
          run(kernels::AffineTransform{x, transforms, options, y[0]});
        });
        for (const int neighbor : {0, 1, 2, 3}) {
          if (neighbor > 0 && method == Interpolation::nearest) continue;
          const Results before{Tensor::full({84, 3}, 9), Tensor::zeros({84}, DType::i64)};
          expect_same(before, [&](Runner run, Results& results) {
            run(kernels::AffineTransformGradient{x, transforms, options, neighbor, results[0], results[1]});
          });
        }
      }
}

}  // namespace
}  // namespace lockstep::test
