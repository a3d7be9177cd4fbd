#include <gtest/gtest.h>

#include <lockstep/kernels/pooling/pooling_kernels.h>
#include <lockstep/kernels/window/window_range.h>

#include "parity.h"

namespace lockstep::test {
namespace {

/// A pooling from (2, height, width, channels) to (2, out_height, out_width, channels).
struct Pooling {
  std::int64_t height, width, channels, out_height, out_width;
  Window2d window;

  Shape x() const { return {2, height, width, channels}; }
  Shape y() const { return {2, out_height, out_width, channels}; }
};

constexpr std::int64_t beyond_32_bits = std::int64_t{1} << 33;

// Windows that overlap, that tile, that leave gaps and elements over, that reach into padding, that cover all; packs of
// channels; indices of 64 bits.
const std::vector<Pooling> poolings{
    {1, 1, 1, 1, 1, {}},
    {6, 8, 3, 3, 4, {.height = 2, .width = 2, .stride_h = 2, .stride_w = 2}},
    {7, 7, 4, 3, 3, {.height = 3, .width = 3, .stride_h = 2, .stride_w = 2}},
    {5, 6, 2, 5, 6, {.height = 3, .width = 3, .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1}},
    {8, 9, 3, 2, 3, {.height = 2, .width = 1, .stride_h = 4, .stride_w = 3}},
    {7, 5, 1, 4, 2, {.height = 2, .width = 4, .stride_h = 2, .stride_w = 3, .pad_bottom = 1, .pad_right = 2}},
    {4, 4, 5, 1, 1, {.height = 4, .width = 4}},
    {17, 17, 2, 1, 1, {.height = 17, .width = 17}},
    {9, 9, 8, 4, 4, {.height = 3, .width = 3, .stride_h = 2, .stride_w = 2}},
    {4, 5, 3, 1, 1, {.height = 2, .width = 2, .stride_h = beyond_32_bits, .stride_w = beyond_32_bits}},
};

TEST(GridPool2d, WindowsThatCoverAnElement) {
  for (const Pooling& c : poolings) {
    const WindowAxis<std::int64_t> axis(c.height, c.out_height, c.window.height, c.window.stride_h, c.window.pad_top);
    for (std::int64_t i = 0; i < axis.in; ++i) {
      const IndexRange<std::int64_t> found = axis.covering(i);
      for (std::int64_t at = 0; at < axis.out; ++at) {
        const IndexRange<std::int64_t> covered = axis.covered(at);
        EXPECT_EQ(at >= found.begin && at < found.end, i >= covered.begin && i < covered.end) << i << " " << at;
      }
    }
  }
}

/// Few different values, so that windows have several equal maxima.
Tensor tied(const Shape& shape, unsigned seed) {
  return in_dtype(DType::f32, random_indices(shape.elements(), 3, seed).view(shape));
}

class GridPool2dOf : public testing::TestWithParam<DType> {
 protected:
  const DType dtype_ = GetParam();

  Tensor numbers(const Shape& shape, unsigned seed) const { return in_dtype(dtype_, random_tensor(shape, seed)); }
};

INSTANTIATE_TEST_SUITE_P(Real, GridPool2dOf, testing::ValuesIn(real_dtypes),
                         [](const auto& info) { return std::string(name(info.param)); });

/// Compares results, indices within the windows and gradients computed from these.
void expect_same_max_pool(const Pooling& c, const Tensor& x, const Tensor& dy) {
  expect_same_results(x.dtype(), {c.y()}, [&](const Runner& run, const Results& out) {
    run(kernels::MaxPool2d{x, c.window, out[0], Tensor()});
  });
  const DType dtype = c.window.height * c.window.width <= 256 ? DType::u8 : DType::i32;
  Results before = unwritten({c.y(), c.y(), c.x(), c.y()}, x.dtype());
  before[1] = Tensor::full(c.y(), -1);
  expect_same(before, [&](const Runner& run, const Results& out) {
    const Tensor indices = Tensor::empty(c.y(), dtype);
    run(kernels::MaxPool2d{x, c.window, out[0], indices});
    run(kernels::MaxPool2dGradient{indices, c.window, dy, out[2]});
    run(kernels::MaxPool2dTaken{x, indices, c.window, out[3]});
    copy(Tensor::from(indices.to_vector<float>(), c.y()), out[1]);
  });
}

TEST_P(GridPool2dOf, MaxPool) {
  for (const Pooling& c : poolings)
    for (const Tensor& x : {numbers(c.x(), 1), in_dtype(dtype_, tied(c.x(), 2))}) {
      SCOPED_TRACE(c.x().text());
      const Tensor dy = numbers(c.y(), 3);
      expect_same_max_pool(c, x, dy);
      expect_same_max_pool(c, x, strided_copy(dy));
    }
}

TEST_P(GridPool2dOf, MaxPoolOfWhatIsNoNumber) {
  const Pooling& c = poolings[2];
  const Tensor x = random_tensor(c.x(), 1);
  for (const std::int64_t at : {0, 30, 31, 77, 150}) x.data<float>()[at] = std::nanf("");
  expect_same_max_pool(c, in_dtype(dtype_, x), numbers(c.y(), 3));
}

TEST_P(GridPool2dOf, AveragePool) {
  for (const Pooling& c : poolings) {
    SCOPED_TRACE(c.x().text());
    const Tensor x = numbers(c.x(), 1);
    const Tensor dy = numbers(c.y(), 2);
    expect_same_results(dtype_, {c.y()}, [&](const Runner& run, const Results& out) {
      run(kernels::AveragePool2d{x, c.window, out[0]});
    });
    for (const Tensor& upper : {dy, strided_copy(dy)})
      expect_same_results(dtype_, {c.x()}, [&](const Runner& run, const Results& out) {
        run(kernels::AveragePool2dGradient{upper, c.window, out[0]});
      });
  }
}

TEST_P(GridPool2dOf, WritesToAChannelSlice) {
  const Pooling& c = poolings[1];
  const Tensor x = numbers(c.x(), 1);
  Shape wide = c.y();
  wide[3] += 5;
  expect_same_results(dtype_, {wide}, [&](const Runner& run, const Results& out) {
    run(kernels::MaxPool2d{x, c.window, out[0].slice_view(3, 2, 2 + c.channels), Tensor()});
  });
  expect_same_results(dtype_, {wide}, [&](const Runner& run, const Results& out) {
    run(kernels::AveragePool2d{x, c.window, out[0].slice_view(3, 2, 2 + c.channels)});
  });
}

}  // namespace
}  // namespace lockstep::test
