#include <lockstep/kernels/executor/channels.h>
#include <lockstep/kernels/executor/shared_kernel.h>
#include <lockstep/kernels/normalization/batch_norm_math.h>
#include <lockstep/kernels/normalization/channel_sums.h>
#include <lockstep/kernels/normalization/normalization_kernels.h>

// Mean and variance of channels.

namespace lockstep::kernels {

namespace detail {

/// Sums of distances from the first row, and of their squares. The first row is no further from the mean than
/// sqrt(rows) standard deviations, so that little is lost by cancellation, however large the mean is.
template <class T, int pack_size>
struct ChannelMoments {
  static constexpr int pack = pack_size;
  struct Kept {
    float first_row[pack];
  };
  Rows<T> x;
  Index rows;
  float* mean;
  float* variance;

  LOCKSTEP_HOST_DEVICE Kept keep(Index k) const {
    Kept kept;
    load_pack(x.at(0, k), kept.first_row);
    return kept;
  }
  LOCKSTEP_HOST_DEVICE void add(const Kept& kept, Index row, Index k, float (&first)[pack],
                                float (&second)[pack]) const {
    float values[pack];
    load_pack(x.at(row, k), values);
    for (int c = 0; c < pack; ++c) {
      const float distance = values[c] - kept.first_row[c];
      first[c] += distance;
      second[c] += distance * distance;
    }
  }
  LOCKSTEP_HOST_DEVICE void finish(Index k, const TwoSums& sums) const {
    if (rows == 0) {
      mean[k] = 0;
      variance[k] = 0;
      return;
    }
    const double share = 1.0 / static_cast<double>(rows);
    const double distance = sums.first * share;
    const double spread = sums.second * share - distance * distance;
    mean[k] = static_cast<float>(static_cast<double>(static_cast<float>(*x.at(0, k))) + distance);
    variance[k] = static_cast<float>(spread < 0 ? 0 : spread);
  }
};

/// One channel of all parts.
struct MergedMoments {
  const float* parts;
  Index part_count, channels;
  float* mean;
  float* variance;

  LOCKSTEP_HOST_DEVICE void operator()(Index k) const {
    std::int64_t rows = 0;
    double merged = 0;
    double squares = 0;
    for (Index part = 0; part < part_count; ++part) {
      const float* const row = parts + part * (2 * channels + 1);
      const float count = row[2 * channels];
      if (count < 1) continue;
      MomentsMerge(rows, static_cast<std::int64_t>(count))(merged, squares, row[k], row[channels + k] * count);
      rows += static_cast<std::int64_t>(count);
    }
    mean[k] = static_cast<float>(merged);
    variance[k] = static_cast<float>(squares / static_cast<double>(rows < 1 ? 1 : rows));
  }
};

}  // namespace detail

template <class Executor>
void ChannelMoments::run(Executor& on) const {
  const Index rows = detail::row_count(x);
  visit_real(x.dtype(), [&]<class T>() {
    const detail::Rows<T> from(x);
    visit_packs<T>(mean.elements(), {from}, [&]<int pack>() {
      const detail::ChannelMoments<T, pack> f{from, rows, mean.data<float>(), variance.data<float>()};
      sum_channels(on, rows, mean.elements(), f);
    });
  });
}

template <class Executor>
void MergeMoments::run(Executor& on) const {
  on.for_each(mean.elements(), detail::MergedMoments{parts.data<float>(), parts.dim(0), mean.elements(),
                                                     mean.data<float>(), variance.data<float>()});
}

LOCKSTEP_SHARED_KERNEL(ChannelMoments)
LOCKSTEP_SHARED_KERNEL(MergeMoments)

}  // namespace lockstep::kernels
