#include <algorithm>
#include <compare>
#include <vector>

#include <lockstep/kernels/sorting/sort_direction.h>
#include <lockstep/kernels/sorting/sort_key.h>
#include <lockstep/kernels/sorting/sorting_kernels.h>
#include <lockstep/runtime/thread/parallel.h>

namespace lockstep {
namespace {

constexpr std::int64_t grain = 4096;  // least number of elements per thread

/// Sort key of an element. No two entries of a column are equal, so that every sorting algorithm gives the same order.
template <class Key>
struct Entry {
  Key key;
  std::int64_t index;
  friend auto operator<=>(const Entry&, const Entry&) = default;
};

/// Calls body(outer, k) for each (outer, k) of (outer, inner), on several threads. `n`: elements processed per call.
template <class Body>
void for_each_column(std::int64_t outer, std::int64_t n, std::int64_t inner, const Body& body) {
  const std::int64_t columns = std::max<std::int64_t>(1, grain / std::max<std::int64_t>(1, n));
  parallel_for(outer * inner, columns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t column = begin; column < end; ++column) body(column / inner, column % inner);
  });
}

/// Entries of the elements x[i * stride], i in [0, n); the first `count` are sorted.
template <class T>
std::vector<Entry<SortKey<T>>> first_entries(const T* x, std::int64_t n, std::int64_t stride, std::int64_t count,
                                             SortDirection direction) {
  std::vector<Entry<SortKey<T>>> entries(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) entries[static_cast<std::size_t>(i)] = {sort_key(x[i * stride], direction), i};
  const auto end = entries.begin() + count;
  if (count < n) std::ranges::nth_element(entries, end);
  std::sort(entries.begin(), end);
  return entries;
}

}  // namespace

void kernels::SortMiddle::on_cpu() const {
  const std::int64_t n = x.dim(1);
  const std::int64_t inner = x.dim(2);
  const std::int64_t count = indices.dim(1);
  visit_dtype(x.dtype(), [&]<class T>() {
    for_each_column(x.dim(0), n, inner, [&](std::int64_t outer, std::int64_t k) {
      const T* const from = x.data<T>() + outer * n * inner + k;
      const auto entries = first_entries(from, n, inner, count, direction);
      std::int64_t at = outer * count * inner + k;
      for (std::int64_t j = 0; j < count; ++j, at += inner) {
        const std::int64_t index = entries[static_cast<std::size_t>(j)].index;
        values.data<T>()[at] = from[index * inner];
        indices.data<std::int64_t>()[at] = index;
      }
    });
  });
}

}  // namespace lockstep
