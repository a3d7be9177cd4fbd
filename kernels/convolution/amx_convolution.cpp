#include "lockstep/kernels/convolution/amx_convolution.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <lockstep/kernels/convolution/amx_tiles.h>
#include <lockstep/kernels/cpu/transpose.h>
#include <lockstep/runtime/thread/parallel.h>

// All pixels of some images in a line, with zeros wherever a window looks past an image's border, are a row for each
// channel. What a tap of the window contributes to the kernel's gradient is then one matrix product over that line: of
// x's rows, moved by the tap's place, and of dy's, which is in the same places and zero elsewhere. The zeros after an
// image's row are those before the next one: a line is longer than the pixels by one in 16 for images of 32x32 with
// windows of 3x3.

namespace lockstep::amx {
namespace {

using Index = std::int64_t;

constexpr Index lanes = 16;  ///< channels that are moved at once
/// Bytes of packed images that are worked on in one go: they are read once for each 32x32 channels, from a core's
/// second cache.
constexpr Index block_bytes = Index{1} << 20;
/// Terms of a sum before the next tap's turn: 32 channels of x and dy so long stay in the first cache for all taps.
constexpr Index run_terms = 8 * depth;

Index rounded_up(Index value, Index to) { return (value + to - 1) / to * to; }

/// Where pixels are in the line.
struct Line {
  Line(const Tensor& x, const Window2d& w)
      : window(w),
        columns(x.dim(2) + std::max(w.pad_left, w.pad_right)),
        rows(x.dim(1) + std::max(w.pad_top, w.pad_bottom)) {}

  Index image() const { return rows * columns; }
  /// Where x begins, so that the first window does.
  Index first() const { return window.pad_top * columns + window.pad_left; }
  /// How far after a window's place its tap is.
  Index tap(Index number) const {
    return number / window.width * window.dilation_h * columns + number % window.width * window.dilation_w;
  }
  Index taps() const { return window.height * window.width; }

  Window2d window;
  Index columns, rows;  ///< of an image, with the zeros after them
};

/// Images that are laid in a line.
struct Images {
  const bfloat16* first;
  Index count, height, width, channels;

  static Images of(const Tensor& all, Index begin, Index end) {
    return {all.data<bfloat16>() + begin * all.dim(1) * all.dim(2) * all.dim(3), end - begin, all.dim(1), all.dim(2),
            all.dim(3)};
  }
};

/// The channels of one place of the line after the other.
class Walk {
 public:
  /// From `place`, counted from where the first image begins; `zeros` stand for what is no pixel.
  Walk(const Images& images, const Line& line, Index place, const bfloat16* zeros)
      : images_(images), line_(line), zeros_(zeros), before_(std::max<Index>(0, -place)) {
    const Index from = std::max<Index>(0, place);
    image_ = from / line.image();
    row_ = from % line.image() / line.columns;
    column_ = from % line.columns;
  }

  const bfloat16* next() {
    if (before_ > 0) {
      --before_;
      return zeros_;
    }
    const bool is_pixel = image_ < images_.count && row_ < images_.height && column_ < images_.width;
    const Index pixel = (image_ * images_.height + row_) * images_.width + column_;
    if (++column_ == line_.columns) {
      column_ = 0;
      if (++row_ == line_.rows) {
        row_ = 0;
        ++image_;
      }
    }
    return is_pixel ? images_.first + pixel * images_.channels : zeros_;
  }

 private:
  const Images& images_;
  const Line& line_;
  const bfloat16* zeros_;
  Index before_, image_, row_, column_;
};

/// Sixteen pairs of numbers. A vector type of the compilers', as Winograd's.
using Pairs [[gnu::vector_size(64)]] = std::uint32_t;
using Halves [[gnu::vector_size(32)]] = std::uint16_t;

/// Loads 16 channels of two places as 16 pairs.
void load_pairs(const bfloat16* one, const bfloat16* next, Pairs& to) {
  Halves lower;
  Halves upper;
  std::memcpy(&lower, one, sizeof lower);
  std::memcpy(&upper, next, sizeof upper);
  to = __builtin_convertvector(lower, Pairs) | __builtin_convertvector(upper, Pairs) << 16;
}

/// Calls put(channel, pairs) for each block of 16 channels of the next `depth` places. `pairs` has 16 pairs for every
/// two places.
template <class Put>
void pack(Walk& walk, Index channels, const Put& put) {
  const bfloat16* places[depth];
  for (const bfloat16*& place : places) place = walk.next();
  for (Index c = 0; c < channels; c += lanes) {
    Pairs pairs[lanes];
    for (Index i = 0; i < lanes; ++i) load_pairs(places[2 * i] + c, places[2 * i + 1] + c, pairs[i]);
    put(c, pairs);
  }
}

/// Calls body(walk, place) for place = 0, depth, 2 * depth, ... below `length`; `walk` is at place - first of the line.
template <class Body>
void for_each_depth(const Images& images, const Line& line, Index first, Index length, const Body& body) {
  parallel_for(length / depth, 4, [&](Index begin, Index end) {
    const std::vector<bfloat16> zeros(static_cast<std::size_t>(images.channels));
    Walk walk(images, line, begin * depth - first, zeros.data());
    for (Index place = begin * depth; place < end * depth; place += depth) body(walk, place);
  });
}

/// A row for each channel of x. `stride`, the distance between rows, is an odd number of cache lines, so that the rows
/// do not all fall into the same sets of the cache.
struct PackedRows {
  PackedRows(Index channels, Index length)
      : stride(rounded_up(length, depth) | depth), values(Tensor::empty({channels * stride}, DType::bf16)) {}

  void fill(const Images& images, const Line& line) const {
    bfloat16* const to = values.data<bfloat16>();
    for_each_depth(images, line, line.first(), stride, [&](Walk& walk, Index place) {
      pack(walk, images.channels, [&](Index channel, Pairs(&pairs)[lanes]) {
        cpu::transpose(pairs);
        for (Index i = 0; i < lanes; ++i)
          std::memcpy(static_cast<void*>(to + (channel + i) * stride + place), &pairs[i], sizeof(Pairs));
      });
    });
  }

  Index stride;
  Tensor values;
};

/// The pairs of dy's channels: 16 channels of the whole line after another.
struct PackedPairs {
  PackedPairs(Index channels, Index length)
      : stride(length * lanes), values(Tensor::empty({channels * length}, DType::bf16)) {}

  void fill(const Images& images, const Line& line, Index length) const {
    bfloat16* const to = values.data<bfloat16>();
    for_each_depth(images, line, 0, length, [&](Walk& walk, Index place) {
      pack(walk, images.channels, [&](Index channel, Pairs(&pairs)[lanes]) {
        std::memcpy(static_cast<void*>(to + channel / lanes * stride + place * lanes), &pairs, sizeof pairs);
      });
    });
  }

  Index stride;
  Tensor values;
};

void add_product(const Product& product, bool two_rows, bool two_columns) {
  if (two_rows && two_columns) return add_product<2, 2>(product);
  if (two_rows) return add_product<2, 1>(product);
  if (two_columns) return add_product<1, 2>(product);
  add_product<1, 1>(product);
}

/// dkernel += what places 0 to `length` of the line contribute.
void add_block(const PackedRows& rows, const PackedPairs& pairs, const Line& line, Index length,
               const Tensor& dkernel) {
  const Index in = dkernel.dim(2);
  const Index out = dkernel.dim(3);
  const Index pair = 2 * tile;
  const Index across = (out + pair - 1) / pair;
  const Index down = (in + pair - 1) / pair;
  const Index taps = line.taps();
  const auto of_taps = [&](Index row, Index column, Index tap, Index end_tap) {
    for (Index place = 0; place < length; place += run_terms)
      for (Index t = tap; t < end_tap; ++t)
        add_product({rows.values.data<bfloat16>() + row * rows.stride + place + line.tap(t), rows.stride,
                     pairs.values.data<bfloat16>() + column / lanes * pairs.stride + place * lanes, pairs.stride,
                     std::min(run_terms, length - place), dkernel.data<float>() + (t * in + row) * out + column, out},
                    row + tile < in, column + tile < out);
  };
  parallel_for(down * across * taps, 1, [&](Index begin, Index end) {
    [[maybe_unused]] const TileScope tiles;
    for (Index at = begin; at < end;) {
      const Index block = at / taps;
      const Index stop = std::min(end, (block + 1) * taps);
      of_taps(block / across * pair, block % across * pair, at % taps, at % taps + stop - at);
      at = stop;
    }
  });
}

}  // namespace

bool fits(const Tensor& x, const Shape& kernel, const Window2d& w) {
  const Index in = kernel[2];
  const Index out = kernel[3];
  const bool of_tiles = in == x.dim(3) && in % tile == 0 && out % tile == 0;
  const bool moves_by_one = w.stride_h == 1 && w.stride_w == 1;
  // Else the results of a row would not fit between its zeros.
  const bool overlaps = (w.height - 1) * w.dilation_h >= std::min(w.pad_top, w.pad_bottom) &&
                        (w.width - 1) * w.dilation_w >= std::min(w.pad_left, w.pad_right);
  return x.dtype() == DType::bf16 && of_tiles && moves_by_one && overlaps;
}

void conv2d_gradient_kernel(const Tensor& x, const Tensor& dy, const Window2d& window, const Tensor& dkernel) {
  std::fill_n(dkernel.data<float>(), dkernel.elements(), 0.0F);
  const Line line(x, window);
  const Index in = x.dim(3);
  const Index out = dy.dim(3);
  const Index image_bytes = line.image() * (in + out) * static_cast<Index>(sizeof(bfloat16));
  const Index block = std::clamp<Index>(block_bytes / image_bytes, 1, x.dim(0));
  const Index longest = rounded_up(block * line.image(), depth);
  const PackedRows rows(in, longest + line.tap(line.taps() - 1));
  const PackedPairs pairs(out, longest);
  for (Index begin = 0; begin < x.dim(0); begin += block) {
    const Index end = std::min(x.dim(0), begin + block);
    const Index length = rounded_up((end - begin) * line.image(), depth);
    rows.fill(Images::of(x, begin, end), line);
    pairs.fill(Images::of(dy, begin, end), line, length);
    add_block(rows, pairs, line, length, dkernel);
  }
}

}  // namespace lockstep::amx
