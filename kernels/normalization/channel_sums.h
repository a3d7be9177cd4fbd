#pragma once

#include <algorithm>

#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/middle_axis.h>
#include <lockstep/kernels/executor/packs.h>
#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/tensor/tensor.h>

// Computes two sums over rows for each channel. A thread sums a pack of neighboring channels over a few rows in f32 and
// adds these partial sums in f64, because converting each element to f64 would take longer than reading it.

namespace lockstep::kernels {

namespace detail {

/// Number of rows summed in f32.
inline constexpr Index rows_of_run = 8;

template <int pack>
struct PackOfSums {
  TwoSums of[pack];
};

/// Computes the sums over each part of the rows and writes them to `partial` (parts, channels). A part has `runs` runs
/// of rows_of_run rows.
template <class F>
struct PartsOfChannelSums {
  static constexpr int pack = F::pack;
  using Value = PackOfSums<pack>;
  F f;
  Index rows, channels, runs;
  TwoSums* partial;  ///< null if there is only one part; its sums are passed to f.finish

  LOCKSTEP_HOST_DEVICE Value start() const { return {}; }
  LOCKSTEP_HOST_DEVICE Value combine(Value a, const Value& b) const {
    for (int c = 0; c < pack; ++c) a.of[c] = a.of[c] + b.of[c];
    return a;
  }
  LOCKSTEP_HOST_DEVICE Value load(Index part, Index run, Index k) const {
    const Index begin = (part * runs + run) * rows_of_run;
    const auto kept = f.keep(k * pack);
    float first[pack] = {};
    float second[pack] = {};
    if (begin + rows_of_run <= rows)
      for (int row = 0; row < static_cast<int>(rows_of_run); ++row)  // unrolled: loads of all rows overlap
        f.add(kept, begin + row, k * pack, first, second);
    else
      for (Index row = begin; row < rows; ++row) f.add(kept, row, k * pack, first, second);
    Value sums;
    for (int c = 0; c < pack; ++c) sums.of[c] = {first[c], second[c]};
    return sums;
  }
  LOCKSTEP_HOST_DEVICE void finish(Index part, Index k, const Value& sums) const {
    for (int c = 0; c < pack; ++c)
      if (partial)
        partial[part * channels + k * pack + c] = sums.of[c];
      else
        f.finish(k * pack + c, sums.of[c]);
  }
};

/// Adds the sums of all parts.
template <class F>
struct JoinedChannelSums {
  using Value = TwoSums;
  F f;
  Index channels;
  const TwoSums* partial;

  LOCKSTEP_HOST_DEVICE TwoSums start() const { return {}; }
  LOCKSTEP_HOST_DEVICE TwoSums combine(const TwoSums& a, const TwoSums& b) const { return a + b; }
  LOCKSTEP_HOST_DEVICE TwoSums load(Index, Index part, Index channel) const {
    return partial[part * channels + channel];
  }
  LOCKSTEP_HOST_DEVICE void finish(Index, Index channel, const TwoSums& sums) const { f.finish(channel, sums); }
};

}  // namespace detail

/// Computes two sums over the rows for each channel and calls f.finish(channel, sums). f.keep(k) returns the values
/// that are the same in all rows, such as means, for the F::pack channels from k on. f.add(f.keep(k), row, k, first,
/// second) adds the terms of these channels in row `row` to first[0 .. F::pack) and second[0 .. F::pack). Precondition:
/// `channels` is a multiple of F::pack.
template <class Executor, class F>
void sum_channels(Executor& on, Index rows, Index channels, const F& f) {
  constexpr Index wanted_blocks = 512;
  if (channels == 0) return;
  const Index packs = channels / F::pack;
  const Index runs = (rows + detail::rows_of_run - 1) / detail::rows_of_run;
  const Index most_parts = std::max<Index>(1, wanted_blocks / column_tiles(packs));
  const Index parts = std::clamp<Index>(runs / column_depth(packs), 1, most_parts);
  const Index runs_of_part = (runs + parts - 1) / parts;
  Tensor scratch;
  if (parts > 1) scratch = Tensor::empty({parts * channels * static_cast<Index>(sizeof(TwoSums))}, DType::u8);
  auto* const partial = parts > 1 ? static_cast<TwoSums*>(scratch.raw_data()) : nullptr;
  on.columns(parts, runs_of_part, packs, detail::PartsOfChannelSums<F>{f, rows, channels, runs_of_part, partial});
  if (parts > 1) on.columns(1, parts, channels, detail::JoinedChannelSums<F>{f, channels, partial});
}

}  // namespace lockstep::kernels
