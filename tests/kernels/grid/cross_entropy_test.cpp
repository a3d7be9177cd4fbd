#include <limits>

#include <gtest/gtest.h>

#include <lockstep/kernels/losses/losses_kernels.h>
#include <lockstep/kernels/op/softmax_kernels.h>

#include "parity.h"

namespace lockstep::test {
namespace {

// Rows for teams of a warp and of a block, with and without elements for all threads.
const std::vector<Shape> logit_shapes{{1, 1}, {5, 10}, {3, 33}, {2, 1024}, {2, 1025}, {3, 3001}, {0, 4}};

Tensor probabilities_of(const Tensor& logits) {
  const Tensor y = Tensor::empty(logits.shape(), logits.dtype());
  kernels::run_on_cpu(kernels::Softmax{logits, y});
  return y;
}

TEST(GridCrossEntropy, Softmax) {
  for (const DType dtype : real_dtypes)
    for (const Shape& shape : logit_shapes) {
      SCOPED_TRACE(fmt::format("{} {}", shape, name(dtype)));
      const Tensor logits = in_dtype(dtype, random_tensor(shape, 1, -20, 20));
      const Tensor dy = in_dtype(dtype, random_tensor(shape, 2));
      const Tensor y = probabilities_of(logits);
      const Results before = unwritten({shape}, dtype);
      expect_near(before, 1, [&](const Runner& run, const Results& out) { run(kernels::Softmax{logits, out[0]}); });
      expect_near(before, 1, [&](const Runner& run, const Results& out) {
        run(kernels::SoftmaxGradient{y, dy, out[0]});
      });
      expect_near(before, 1, [&](const Runner& run, const Results& out) { run(kernels::LogSoftmax{logits, out[0]}); });
      const Tensor log_y = Tensor::empty(shape, dtype);
      kernels::run_on_cpu(kernels::LogSoftmax{logits, log_y});
      expect_near(before, 1, [&](const Runner& run, const Results& out) {
        run(kernels::LogSoftmaxGradient{log_y, dy, out[0]});
      });
    }
}

TEST(GridCrossEntropy, SoftmaxOfNothing) {
  const Tensor logits = Tensor::empty({3, 0});
  expect_same_results({{3, 0}}, [&](const Runner& run, const Results& out) { run(kernels::Softmax{logits, out[0]}); });
  expect_same_results({{3, 0}}, [&](const Runner& run, const Results& out) {
    run(kernels::LogSoftmax{logits, out[0]});
  });
}

TEST(GridCrossEntropy, SoftmaxOfExtremeLogits) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Runner grid(Source::shared);
  for (const DType dtype : real_dtypes) {
    const Tensor extreme = Tensor::from(std::vector<float>{-infinity, 0, 3, 1e30F, -1e30F, 5}, {2, 3});
    const Tensor logits = in_dtype(dtype, extreme);
    expect_near(unwritten({{2, 3}}, dtype), 1, [&](const Runner& run, const Results& out) {
      run(kernels::Softmax{logits, out[0]});
    });
    const Tensor y = Tensor::empty({1, 3}, dtype);
    grid(kernels::Softmax{in_dtype(dtype, Tensor::from(std::vector<float>{1, std::nanf(""), 2}, {1, 3})), y});
    for (const float value : y.to_vector<float>()) EXPECT_TRUE(std::isnan(value));
  }
}

TEST(GridCrossEntropy, SparseSoftmaxCrossEntropy) {
  for (const DType dtype : real_dtypes)
    for (const Shape& shape : logit_shapes) {
      SCOPED_TRACE(fmt::format("{} {}", shape, name(dtype)));
      const Tensor logits = random_tensor(shape, 1, -5, 5);
      const Tensor labels = random_indices(shape[0], shape[1], 2);
      const Tensor dloss = in_dtype(dtype, random_tensor({shape[0]}, 3));
      const Results before{unwritten({{shape[0]}}, dtype)[0], unwritten({shape})[0]};
      expect_near(before, 1, [&, x = in_dtype(dtype, logits)](const Runner& run, const Results& out) {
        EXPECT_EQ(run(kernels::SparseSoftmaxCrossEntropy{x, labels, out[0], out[1]}), -1);
      });
      const Tensor y = probabilities_of(logits);
      expect_same_results(dtype, {shape}, [&](const Runner& run, const Results& out) {
        run(kernels::SparseSoftmaxCrossEntropyGradient{y, labels, dloss, out[0]});
      });
    }
}

TEST(GridCrossEntropy, LabelsOutsideAreFoundAndNotRead) {
  const Tensor logits = random_tensor({4, 3}, 1);
  const Tensor labels = Tensor::from(std::vector<std::int64_t>{2, 0, -1, 3}, {4});
  const Runner grid(Source::shared);
  const Results out = unwritten({{4}, {4, 3}});
  EXPECT_EQ(first_fault(grid(kernels::SparseSoftmaxCrossEntropy{logits, labels, out[0], out[1]}),
                        "labels of sparse_softmax_cross_entropy"),
            2);
  EXPECT_FALSE(std::isnan(out[0].data<float>()[1]));
  EXPECT_TRUE(std::isnan(out[0].data<float>()[2]));
}

}  // namespace
}  // namespace lockstep::test
