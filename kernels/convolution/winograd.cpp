#include "lockstep/kernels/convolution/winograd.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <lockstep/kernels/convolution/winograd_points.h>
#include <lockstep/kernels/cpu/onednn.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep::winograd {
namespace {

using Index = std::int64_t;
using dnnl::memory;

constexpr Index grid_points = Index{points} * points;
/// Tiles whose points are made, multiplied and taken back in one go, small enough to stay in the cache meanwhile.
constexpr Index block_tiles = 64;
constexpr Index tile_grain = 4;      ///< less is not worth waking a thread for
constexpr Index channel_block = 16;  ///< the numbers of channels are multiples of it

void load(const float* from, Lanes& to) { std::memcpy(&to, from, sizeof(Lanes)); }
void store(const Lanes& from, float* to) { std::memcpy(to, &from, sizeof(Lanes)); }

using LaneBits [[gnu::vector_size(cpu::register_bytes)]] = std::uint32_t;
using HalfLanes [[gnu::vector_size(cpu::register_bytes / 2)]] = std::uint16_t;

void load(const bfloat16* from, Lanes& to) {
  HalfLanes upper;
  std::memcpy(&upper, from, sizeof upper);
  const LaneBits bits = __builtin_convertvector(upper, LaneBits) << 16;
  std::memcpy(&to, &bits, sizeof to);
}
/// Rounds as bfloat16 does.
void store(const Lanes& from, bfloat16* to) {
  LaneBits bits;
  std::memcpy(&bits, &from, sizeof bits);
  const LaneBits nearest = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const LaneBits not_a_number = (bits >> 16) | 0x40U;
  const LaneBits rounded = (bits & 0x7fffffffU) > 0x7f800000U ? not_a_number : nearest;
  const HalfLanes upper = __builtin_convertvector(rounded, HalfLanes);
  std::memcpy(static_cast<void*>(to), &upper, sizeof upper);
}

Index tiles_along(Index results) { return (results + tile - 1) / tile; }

/// A matrix of `rows` x `columns` for each point of the grid. The distance between the matrices is not a power of two,
/// so that the elements of one tile do not all fall into the same set of the cache.
struct PointMatrices {
  PointMatrices(Index row_count, Index column_count)
      : rows(row_count),
        columns(column_count),
        stride(rows * columns + channel_block),
        values(Tensor::empty({grid_points * stride})) {}
  /// Uses the memory of an object with at least as many rows.
  PointMatrices(Index row_count, const PointMatrices& memory)
      : rows(row_count), columns(memory.columns), stride(rows * columns + channel_block), values(memory.values) {}

  float* at(Index row, Index column) const { return values.data<float>() + row * columns + column; }
  memory::desc desc() const { return describe({grid_points, rows, columns}, {stride, columns, 1}); }
  memory::desc transposed_desc() const { return describe({grid_points, columns, rows}, {stride, 1, columns}); }

  Index rows, columns, stride;
  Tensor values;

 private:
  static memory::desc describe(const memory::dims& dims, const memory::dims& strides) {
    return {dims, memory::data_type::f32, strides};
  }
};

/// Images (n, height, width, channels) cut into tiles: each begins `tile` pixels after the one before, the first one
/// `pad_top` and `pad_left` pixels before the image.
template <class T>
struct TiledImages {
  /// As many tiles as the `results` of a convolution have.
  TiledImages(const Tensor& images, const Tensor& results, Index top, Index left)
      : first(images.data<T>()),
        height(images.dim(1)),
        width(images.dim(2)),
        channels(images.dim(3)),
        pad_top(top),
        pad_left(left),
        rows(tiles_along(results.dim(1))),
        columns(tiles_along(results.dim(2))),
        count(images.dim(0) * rows * columns) {}

  T* first;
  Index height, width, channels, pad_top, pad_left;
  Index rows, columns;  ///< tiles of an image
  Index count;
};

/// The pixels of a tile: where the channels of each begin, which is `outside` for those that the image has not.
template <class T, int size>
struct Pixels {
  Pixels(const TiledImages<T>& images, Index number, T* outside) {
    const Index top = number / images.columns % images.rows * tile - images.pad_top;
    const Index left = number % images.columns * tile - images.pad_left;
    const Index image = number / (images.columns * images.rows);
    for (Index i = 0; i < size; ++i)
      for (Index j = 0; j < size; ++j) {
        const Index row = top + i;
        const Index column = left + j;
        const bool inside = row >= 0 && row < images.height && column >= 0 && column < images.width;
        const Index pixel = (image * images.height + row) * images.width + column;
        channels[i][j] = inside ? images.first + pixel * images.channels : outside;
      }
  }

  T* channels[size][size];
};

/// A run of tiles whose points are in the cache together.
struct Block {
  Index first, count;
};

/// The points of a block, a row for each tile. The pixels of the next tile are fetched meanwhile: there are too many
/// streams for the processor to foresee.
template <class Line, class T>
void to_points(const TiledImages<T>& images, Block block, const PointMatrices& to) {
  parallel_for(block.count, tile_grain, [&](Index begin, Index end) {
    std::vector<T> zeros(static_cast<std::size_t>(images.channels));
    Pixels<T, Line::in> pixels(images, block.first + begin, zeros.data());
    for (Index t = begin; t < end; ++t) {
      const Pixels<T, Line::in> next(images, block.first + std::min(t + 1, end - 1), zeros.data());
      for (Index c = 0; c < images.channels; c += lanes) {
        for (const auto& row : next.channels)
          for (const T* pixel : row) __builtin_prefetch(pixel + c);
        float* const out = to.at(t, c);
        along_both_axes<Line>(
            [&](int row, int column, Lanes& v) { load(pixels.channels[row][column] + c, v); },
            [&](int row, int column, const Lanes& v) { store(v, out + (row * points + column) * to.stride); });
      }
      pixels = next;
    }
  });
}

/// The results of a block.
template <class T>
void to_results(const PointMatrices& from, Block block, const Tensor& bias, Write write, const TiledImages<T>& images) {
  parallel_for(block.count, tile_grain, [&](Index begin, Index end) {
    std::vector<T> nowhere(static_cast<std::size_t>(images.channels));
    for (Index t = begin; t < end; ++t) {
      const Pixels<T, tile> pixels(images, block.first + t, nowhere.data());
      for (Index c = 0; c < images.channels; c += lanes) {
        const float* const in = from.at(t, c);
        Lanes shift{};
        if (bias.defined()) load(bias.data<float>() + c, shift);
        along_both_axes<ResultsLine>(
            [&](int row, int column, Lanes& v) { load(in + (row * points + column) * from.stride, v); },
            [&](int row, int column, const Lanes& v) {
              T* const to = pixels.channels[row][column] + c;
              Lanes before{};
              if (write == Write::add) load(to, before);
              store(v + shift + before, to);
            });
      }
    }
  });
}

/// A kernel (3, 3, in, out) as matrices (in, out), its taps in opposite order if `turned`.
PointMatrices kernel_points(const Tensor& kernel, bool turned) {
  const Index in = kernel.dim(2);
  const Index out = kernel.dim(3);
  PointMatrices result(in, out);
  const float* const values = kernel.data<float>();
  parallel_for(in, 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      for (Index o = 0; o < out; o += lanes) {
        float* const to = result.at(i, o);
        along_both_axes<TapsLine>(
            [&](int row, int column, Lanes& v) {
              const Index tap = row * taps + column;
              load(values + ((turned ? taps * taps - 1 - tap : tap) * in + i) * out + o, v);
            },
            [&](int row, int column, const Lanes& v) { store(v, to + (row * points + column) * result.stride); });
      }
  });
  return result;
}

void to_kernel_gradient(const PointMatrices& from, const Tensor& dkernel) {
  const Index in = from.rows;
  const Index out = from.columns;
  float* const values = dkernel.data<float>();
  parallel_for(in, 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      for (Index o = 0; o < out; o += lanes) {
        const float* const at = from.at(i, o);
        along_both_axes<TapsGradientLine>(
            [&](int row, int column, Lanes& v) { load(at + (row * points + column) * from.stride, v); },
            [&](int row, int column, const Lanes& v) {
              store(v, values + ((row * taps + column) * in + i) * out + o);
            });
      }
  });
}

enum class Product { plain, transposed_left_added };

onednn::Plan product_plan(Product kind, const memory::desc& left, const memory::desc& right,
                          const memory::desc& result) {
  const Write write = kind == Product::plain ? Write::replace : Write::add;
  const auto description = onednn::describe<dnnl::matmul>(onednn::attributes(write), left, right, result);
  return {dnnl::matmul(description), description.scratchpad_desc(), right, {}};
}

/// result = left * right at every point, or result += transposed left * right.
void multiply(Product kind, const PointMatrices& left, const PointMatrices& right, const PointMatrices& result) {
  thread_local onednn::PlanCache plans("product of Winograd's points");
  const memory::desc left_desc = kind == Product::plain ? left.desc() : left.transposed_desc();
  const onednn::PlanKey key{static_cast<Index>(kind), left.rows, left.columns, right.columns};
  const onednn::Plan& plan = plans.get(key, [&] { return product_plan(kind, left_desc, right.desc(), result.desc()); });
  onednn::execute("a product of Winograd's points", plan,
                  {{DNNL_ARG_SRC, onednn::bind(left_desc, left.values)},
                   {DNNL_ARG_WEIGHTS, onednn::bind(right.desc(), right.values)},
                   {DNNL_ARG_DST, onednn::bind(result.desc(), result.values)}});
}

Index longest_block(Index tiles) { return std::min(block_tiles, tiles); }

/// body(block) for all tiles.
template <class Body>
void for_each_block(Index tiles, const Body& body) {
  for (Index first = 0; first < tiles; first += block_tiles) body(Block{first, std::min(block_tiles, tiles - first)});
}

/// y is or gets added x * kernel + bias, where the first result's window begins pad_top and pad_left pixels before x.
template <class T>
void correlate(const Tensor& x, const PointMatrices& kernel, const Tensor& bias, Index pad_top, Index pad_left,
               Write write, const Tensor& y) {
  const TiledImages<T> elements(x, y, pad_top, pad_left);
  const TiledImages<T> results(y, y, 0, 0);
  const PointMatrices element_memory(longest_block(results.count), kernel.rows);
  const PointMatrices result_memory(longest_block(results.count), kernel.columns);
  for_each_block(results.count, [&](Block block) {
    const PointMatrices element_points(block.count, element_memory);
    const PointMatrices result_points(block.count, result_memory);
    to_points<ElementsLine>(elements, block, element_points);
    multiply(Product::plain, element_points, kernel, result_points);
    to_results(result_points, block, bias, write, results);
  });
}

/// sums += the points of the kernel's gradient.
template <class T>
void add_up(const Tensor& x, const Tensor& dy, const Window2d& window, const PointMatrices& sums) {
  const TiledImages<T> elements(x, dy, window.pad_top, window.pad_left);
  const TiledImages<T> gradients(dy, dy, 0, 0);
  const PointMatrices element_memory(longest_block(gradients.count), x.dim(3));
  const PointMatrices gradient_memory(longest_block(gradients.count), dy.dim(3));
  for_each_block(gradients.count, [&](Block block) {
    const PointMatrices element_points(block.count, element_memory);
    const PointMatrices gradient_points(block.count, gradient_memory);
    to_points<ElementsLine>(elements, block, element_points);
    to_points<ResultsGradientLine>(gradients, block, gradient_points);
    multiply(Product::transposed_left_added, element_points, gradient_points, sums);
  });
}

/// (3, 3, in, out) -> (3, 3, out, in)
Tensor swapped(const Tensor& kernel) {
  thread_local onednn::PlanCache plans("transposition of a kernel");
  const memory::dims dims{taps * taps, kernel.dim(2), kernel.dim(3)};
  const memory::desc from(dims, memory::data_type::f32, memory::format_tag::abc);
  const memory::desc to(dims, memory::data_type::f32, memory::format_tag::acb);
  const onednn::Plan& plan = plans.get({kernel.dim(2), kernel.dim(3)}, [&] {
    const dnnl::reorder::primitive_desc description(onednn::engine(), from, onednn::engine(), to, onednn::attributes());
    return onednn::Plan{dnnl::reorder(description), description.scratchpad_desc(), to, {}};
  });
  const Tensor result = Tensor::empty({taps, taps, kernel.dim(3), kernel.dim(2)});
  onednn::execute("a transposition of a kernel", plan,
                  {{DNNL_ARG_FROM, onednn::bind(from, kernel)}, {DNNL_ARG_TO, onednn::bind(to, result)}});
  return result;
}

}  // namespace

bool is_faster(const Tensor& x, const Shape& kernel, const Window2d& w) {
  const bool moves_by_one = w.stride_h == 1 && w.stride_w == 1 && w.dilation_h == 1 && w.dilation_w == 1;
  const Index in = kernel[2];
  const Index out = kernel[3];
  if (w.height != taps || w.width != taps || !moves_by_one || in != x.dim(3) || in % channel_block != 0 ||
      out % channel_block != 0)
    return false;
  const Index height = x.dim(1) + w.pad_top + w.pad_bottom - taps + 1;
  const Index width = x.dim(2) + w.pad_left + w.pad_right - taps + 1;
  const Index tiles_of_image = tiles_along(height) * tiles_along(width);
  const bool fits = 2 * height * width >= tiles_of_image * tile * tile;
  // The kernel's points, 4 times the kernel, take their time too: they must be few beside those of the tiles, and fewer
  // where oneDNN is faster.
  const Index tiles = x.dim(0) * tiles_of_image;
  const Index weight = x.dtype() == DType::bf16 && onednn::has_fast_bfloat16() ? 1 : 8;
  return fits && tiles >= 8 && tiles * weight >= in * out / (in + out);
}

void conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Window2d& window, const Tensor& y) {
  const PointMatrices points_of_kernel = kernel_points(kernel, false);
  visit_real(x.dtype(), [&]<class T>() {
    correlate<T>(x, points_of_kernel, bias, window.pad_top, window.pad_left, Write::replace, y);
  });
}

void conv2d_gradient_x(const Tensor& dy, const Tensor& kernel, const Window2d& window, Write write, const Tensor& dx) {
  const PointMatrices points_of_kernel = kernel_points(swapped(kernel), true);
  visit_real(dx.dtype(), [&]<class T>() {
    correlate<T>(dy, points_of_kernel, {}, taps - 1 - window.pad_top, taps - 1 - window.pad_left, write, dx);
  });
}

void conv2d_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window, const Tensor& dkernel) {
  const PointMatrices sums(x.dim(3), dy.dim(3));
  std::fill_n(sums.values.data<float>(), sums.values.elements(), 0.0F);
  visit_real(x.dtype(), [&]<class T>() { add_up<T>(x, dy, window, sums); });
  to_kernel_gradient(sums, dkernel);
}

}  // namespace lockstep::winograd
