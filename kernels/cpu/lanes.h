#pragma once

#include <cstdint>
#include <numeric>

namespace lockstep::cpu {

/// term(begin) + ... + term(end - 1) in f64, accumulated in 8 lanes so that the compiler can vectorize the loop.
template <class Term>
double sum_in_lanes(std::int64_t begin, std::int64_t end, const Term& term) {
  constexpr std::int64_t lanes = 8;
  double lane[lanes] = {};
  std::int64_t i = begin;
  for (; i + lanes <= end; i += lanes)
    for (std::int64_t l = 0; l < lanes; ++l) lane[l] += term(i + l);
  for (std::int64_t l = 0; i + l < end; ++l) lane[l] += term(i + l);
  return std::accumulate(lane, lane + lanes, 0.0);
}

}  // namespace lockstep::cpu
