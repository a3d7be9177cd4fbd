#pragma once

#include <algorithm>

#include <lockstep/kernels/executor/executor.h>
#include <lockstep/kernels/executor/middle_axis.h>
#include <lockstep/kernels/executor/packs.h>
#include <lockstep/runtime/core/host_device.h>
#include <lockstep/runtime/tensor/tensor.h>

// Two sums over rows for each channel. A thread adds a pack of neighboring channels over a few rows in f32, and those
// sums in f64: to convert each element would take longer than to read it.

namespace lockstep::kernels {

namespace detail {

/// Rows whose terms are added in f32.
inline constexpr Index rows_of_run = 8;

template <int pack>
struct PackOfSums {
  TwoSums of[pack];
};

/// The rows cut into `parts` of `runs` runs each; the sums of the parts go to `partial`, (parts, channels).
template <class F>
struct PartsOfChannelSums {
  static constexpr int pack = F::pack;
  using Value = PackOfSums<pack>;
  F f;
  Index rows, channels, runs;
  TwoSums* partial;  ///< null where there is one part

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
      for (int row = 0; row < static_cast<int>(rows_of_run); ++row)  // unrolled, so that all rows are under way at once
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

/// The sums of all parts, a team for each channel.
template <class F>
struct JoinedChannelSums {
  F f;
  Index channels, parts;
  const TwoSums* partial;

  template <class Team>
  LOCKSTEP_HOST_DEVICE void operator()(Team& team, Index channel) const {
    const TwoSums sums = team.reduce(
        parts, TwoSums{}, [&](Index part) { return partial[part * channels + channel]; },
        [](const TwoSums& a, const TwoSums& b) { return a + b; });
    team.once([&] { f.finish(channel, sums); });
  }
};

}  // namespace detail

/// For each channel: f.finish(channel, sums), where f.add(f.keep(k), row, k, first, second) adds the terms of F::pack
/// channels from k on. Precondition: a multiple of F::pack channels.
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
  if (parts > 1) on.teams(channels, parts, detail::JoinedChannelSums<F>{f, channels, parts, partial});
}

}  // namespace lockstep::kernels
