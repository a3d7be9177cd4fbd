#include "lockstep/kernels/update/update_cpu.h"

#include <algorithm>
#include <type_traits>

#include <lockstep/kernels/reduction/reduce_functions.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

template <class T>
void reduce_replicas(ReduceOp op, const ReduceViews<T>& views) {
  check_views(op, views);
  using A = Accumulator<T>;
  const auto terms = static_cast<A>(mean_terms(views));
  const bool in_place = std::ranges::find_first_of(views.out, views.in) != views.out.end();
  const bool streaming = !in_place && cpu::exceeds_cache<T>(views.in.size() + views.out.size(), views.count);
  visit_reduce(op, [&](auto f) {
    cpu::for_each_tile(views.count, [&](std::int64_t first, std::int64_t n) {
      alignas(stream_line) A combined[cpu::tile];
      cpu::combine_replicas<T>(f, views.in, first, n, combined);
      for (std::int64_t i = 0; i < n; ++i) combined[i] = f.finish(combined[i], terms);
      if constexpr (std::is_same_v<T, A>) {
        cpu::write_copies<T>(combined, views.out, first, n, streaming);
      } else {
        alignas(stream_line) T result[cpu::tile];
        for (std::int64_t i = 0; i < n; ++i) result[i] = static_cast<T>(combined[i]);
        cpu::write_copies<T>(result, views.out, first, n, streaming);
      }
    });
  });
}

}  // namespace

void kernels::Reduce::on_cpu() const {
  std::visit([this](const auto& of) { reduce_replicas(op, of); }, views);
}

}  // namespace lockstep
