#pragma once

#include <lockstep/kernels/executor/executor.h>
#include <lockstep/runtime/core/host_device.h>

namespace lockstep::kernels {

/// Several ranges of elements, cut into runs of neighboring elements. One grid processes all runs, each with one team.
template <int most>
class Ranges {
 public:
  /// Number of elements of a run; a range's last run may be shorter.
  static constexpr Index run = 4096;

  /// Precondition: fewer than `most` ranges have been added.
  void add(Index count) {
    counts_[ranges_] = count;
    first_run_[ranges_ + 1] = first_run_[ranges_] + static_cast<int>((count + run - 1) / run);
    ++ranges_;
  }
  Index runs() const { return first_run_[ranges_]; }

  /// Calls body(range, i) for each element of run `number`: `range` is the index of the range that contains the run,
  /// `i` the element's index in that range.
  template <class Team, class Body>
  LOCKSTEP_HOST_DEVICE void each(Team& team, Index number, const Body& body) const {
    int range = 0;
    while (first_run_[range + 1] <= number) ++range;
    const Index begin = (number - first_run_[range]) * run;
    const Index rest = counts_[range] - begin;
    team.each(rest < run ? rest : run, [&](Index i) { body(range, begin + i); });
  }

 private:
  Index counts_[most] = {};
  int first_run_[most + 1] = {};
  int ranges_ = 0;
};

}  // namespace lockstep::kernels
