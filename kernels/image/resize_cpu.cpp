#include <algorithm>
#include <optional>
#include <vector>

#include <lockstep/kernels/executor/host_executor.h>
#include <lockstep/kernels/executor/real.h>
#include <lockstep/kernels/image/image_kernels.h>
#include <lockstep/kernels/image/resize_weights.h>
#include <lockstep/runtime/thread/parallel.h>

// Adds in the order of the shared source, but resizes both axes row by row, so that rows between the two stay in the
// cache.

namespace lockstep {
namespace {

using cpu::store;
using cpu::value_of;
using kernels::Index;
using kernels::detail::ResizeWeights;
using kernels::detail::WeightTable;

constexpr Index block = 64;
constexpr Index widest = 16;  ///< elements that add_columns may read beyond the end of a row

/// to[l] = the sum of the weighted row(j)[l], for j < terms and l < `known` or, if that is 0, l < count.
template <Index known, Index terms, class Row, class To>
void add_few(const float* weights, Index count, const Row& row, To* to) {
  const Index n = known > 0 ? known : count;
  float weight[terms];
  decltype(row(0)) values[terms];
  for (Index j = 0; j < terms; ++j) {
    weight[j] = weights[j];
    values[j] = row(j);
  }
#pragma omp simd
  for (Index l = 0; l < n; ++l) {
    float sum = 0;
    for (Index j = 0; j < terms; ++j) sum += weight[j] * value_of(values[j][l]);
    store(to[l], sum);
  }
}

/// Same as add_few, for any number of terms and at most `block` elements.
template <Index known, class Row, class To>
void add_many(const float* weights, Index terms, Index count, const Row& row, To* to) {
  const Index n = known > 0 ? known : count;
  float sums[known > 0 ? known : block] = {};
  for (Index j = 0; j < terms; ++j) {
    const auto* const values = row(j);
    const float weight = weights[j];
#pragma omp simd
    for (Index l = 0; l < n; ++l) sums[l] += weight * value_of(values[l]);
  }
#pragma omp simd
  for (Index l = 0; l < n; ++l) store(to[l], sums[l]);
}

/// Element i of an axis of rows, of n elements each: to = the sum of the weighted row(j).
template <class Row, class To>
void add_rows(const WeightTable& table, Index i, Index n, const Row& row, To* to) {
  const auto [begin, end] = table.ranges[i];
  const float* const weights = table.weights + i * table.most;
  const auto from_begin = [&, first = begin](Index j) { return row(first + j); };
  if (end - begin == 2) return add_few<0, 2>(weights, n, from_begin, to);
  if (end - begin == 4) return add_few<0, 4>(weights, n, from_begin, to);
  Index at = 0;
  const auto rest = [&](Index j) { return from_begin(j) + at; };
  for (; at + block <= n; at += block) add_many<block>(weights, end - begin, block, rest, to + at);
  add_many<0>(weights, end - begin, n - at, rest, to + at);
}

/// Fetches the cache lines of n elements that stores will soon reach: without it, stores wait for the large results.
template <Index n, class To>
void prefetch_for_stores(const To* to) {
  constexpr Index line = 64 / sizeof(To);
  constexpr Index ahead = 2048 / sizeof(To);
  for (Index l = 0; l < n; l += line) __builtin_prefetch(to + ahead + l, 1);
}

/// Resizes a row of pixels to `columns` pixels. Computes `lanes` channels at a time; those that a pixel does not have
/// are overwritten by the next one. Reads up to `lanes` elements beyond the row.
template <Index lanes, class To>
void add_columns(const WeightTable& table, Index columns, Index channels, const float* row, To* to) {
  const To* const end = to + columns * channels;
  for (Index i = 0; i < columns; ++i) {
    const IndexRange<Index> range = table.ranges[i];
    const Index terms = range.end - range.begin;
    const float* const weights = table.weights + i * table.most;
    for (Index channel = 0; channel < channels; channel += lanes) {
      To* const at = to + i * channels + channel;
      const auto pixel = [&](Index j) { return row + (range.begin + j) * channels + channel; };
      if constexpr (lanes >= widest) prefetch_for_stores<lanes>(at);
      if (end - at < lanes)
        add_many<0>(weights, terms, end - at, pixel, at);
      else if (terms == 2)
        add_few<lanes, 2>(weights, lanes, pixel, at);
      else if (terms == 4)
        add_few<lanes, 4>(weights, lanes, pixel, at);
      else
        add_many<lanes>(weights, terms, lanes, pixel, at);
    }
  }
}

/// Computes rows of y, in order.
template <class From, class To>
class RowResizer {
 public:
  /// The tables are empty for an axis that keeps its size.
  RowResizer(const kernels::Resize& k, const std::optional<ResizeWeights>& of_rows,
             const std::optional<ResizeWeights>& of_columns)
      : k_(k),
        of_rows_(of_rows),
        of_columns_(of_columns),
        channels_(k.y.dim(3)),
        row_(static_cast<std::size_t>(x_row() + widest)),
        resized_(static_cast<std::size_t>(columns_first() ? of_rows->table.most * y_row() : 0)) {}

  /// Row i of the image.
  void make(Index image, Index i) {
    const From* const x = k_.x.data<From>() + image * k_.x.dim(1) * x_row();
    To* const y = k_.y.data<To>() + (image * k_.y.dim(1) + i) * y_row();
    const auto row_of_x = [&](Index j) { return x + j * x_row(); };
    if (columns_first()) return make_columns_first(image, i, row_of_x, y);
    if (!of_columns_) return add_rows(of_rows_->table, i, x_row(), row_of_x, y);
    if (of_rows_)
      add_rows(of_rows_->table, i, x_row(), row_of_x, row_.data());
    else
      widen(row_of_x(i));
    resize_row(y);
  }

 private:
  Index x_row() const { return k_.x.dim(2) * channels_; }
  Index y_row() const { return k_.y.dim(2) * channels_; }
  bool columns_first() const { return of_rows_ && of_columns_ && !k_.rows_first(); }

  void widen(const From* row) {
    for (Index at = 0; at < x_row(); ++at) row_[static_cast<std::size_t>(at)] = value_of(row[at]);
  }

  /// Resizes the columns of row_.
  template <class T>
  void resize_row(T* to) const {
    const auto resize = channels_ % block == 0 ? add_columns<block, T>
                        : channels_ <= 4       ? add_columns<4, T>
                                               : add_columns<widest, T>;
    resize(of_columns_->table, k_.y.dim(2), channels_, row_.data(), to);
  }

  /// Keeps as many rows with resized columns as a row of y needs.
  template <class Row>
  void make_columns_first(Index image, Index i, const Row& row_of_x, To* y) {
    const WeightTable& table = of_rows_->table;
    const auto resized = [&](Index j) { return resized_.data() + j % table.most * y_row(); };
    if (image != image_) resized_end_ = 0;
    image_ = image;
    const auto [begin, end] = table.ranges[i];
    for (Index j = std::max(begin, resized_end_); j < end; ++j) {
      widen(row_of_x(j));
      resize_row(resized(j));
    }
    resized_end_ = end;
    add_rows(table, i, y_row(), resized, y);
  }

  const kernels::Resize& k_;
  const std::optional<ResizeWeights>& of_rows_;
  const std::optional<ResizeWeights>& of_columns_;
  Index channels_;
  std::vector<float> row_;
  std::vector<float> resized_;
  Index image_ = -1;
  Index resized_end_ = 0;  ///< rows of the image before this one have been resized
};

}  // namespace

void kernels::Resize::on_cpu() const {
  if (copies()) return on_host(*this);
  if (y.elements() == 0) return;
  HostExecutor on;
  const auto weights = [&](int axis) {
    return x.dim(axis) == y.dim(axis) ? std::nullopt : std::optional<ResizeWeights>(std::in_place, on, *this, axis);
  };
  const auto of_rows = weights(1), of_columns = weights(2);
  const Index grain = std::max<Index>(1, detail::host_grain / (y.dim(2) * y.dim(3)));
  visit_real(x.dtype(), [&]<class From>() {
    visit_real(y.dtype(), [&]<class To>() {
      parallel_for(y.dim(0) * y.dim(1), grain, [&](Index begin, Index end) {
        RowResizer<From, To> resizer(*this, of_rows, of_columns);
        for (Index row = begin; row < end; ++row) resizer.make(row / y.dim(1), row % y.dim(1));
      });
    });
  });
}

}  // namespace lockstep
