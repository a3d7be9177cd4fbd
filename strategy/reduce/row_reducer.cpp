#include "lockstep/strategy/reduce/row_reducer.h"

#include <algorithm>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/indexed_slices.h>
#include <lockstep/kernels/op/rows_kernels.h>
#include <lockstep/kernels/op/transfer.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/runtime/trace/step_clock.h>
#include <lockstep/strategy/reduce/arena.h>

namespace lockstep {
namespace {

/// Rows [first, first + count) of a table, whose gradients are rows [place, place + count) of a buffer.
struct Run {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t place = 0;
};

/// The range of part `share` when [0, count) is divided into `shares` parts of about equal size.
std::pair<std::int64_t, std::int64_t> part(std::int64_t count, int share, int shares) {
  return {count * share / shares, count * (share + 1) / shares};
}

/// The runs of consecutive rows in part `share` of the sorted, distinct `indices`.
std::vector<Run> runs_of(std::vector<std::int64_t> indices, int share, int shares) {
  std::ranges::sort(indices);
  indices.erase(std::ranges::unique(indices).begin(), indices.end());
  const auto [begin, end] = part(static_cast<std::int64_t>(indices.size()), share, shares);
  std::vector<Run> runs;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t row = indices[static_cast<std::size_t>(i)];
    if (runs.empty() || runs.back().first + runs.back().count != row) runs.push_back({row, 0, i - begin});
    ++runs.back().count;
  }
  return runs;
}

/// The row of the buffer that holds `row`'s gradient, or no_row.
std::int64_t place_of(std::int64_t row, const std::vector<Run>& runs) {
  const auto after = std::ranges::upper_bound(runs, row, {}, &Run::first);
  if (after == runs.begin()) return no_row;
  const Run& run = *std::prev(after);
  return row < run.first + run.count ? run.place + row - run.first : no_row;
}

/// The buffer (rows, width) of the gradients of the rows in `runs`, summed in the order of the slices.
Tensor gradients_of(const std::vector<Run>& runs, std::int64_t rows, const IndexedSlices& slices, std::int64_t width) {
  const Tensor gradients = Tensor::zeros({rows, width});
  std::vector<std::int64_t> places;
  for (const std::int64_t index : slices.indices.to_vector<std::int64_t>()) places.push_back(place_of(index, runs));
  const auto count = static_cast<std::int64_t>(places.size());
  launch(kernels::ScatterRows{slices.values.view({1, count, width}), Tensor::from(places, {count}), Write::add,
                              gradients.view({1, rows, width})});
  return gradients;
}

std::vector<float*> moved(std::vector<float*> pointers, std::int64_t offset) {
  for (float*& pointer : pointers) pointer += offset;
  return pointers;
}

std::int64_t width_of(const Shape& shape) {
  std::int64_t width = 1;
  for (int axis = 1; axis < shape.rank(); ++axis) width *= shape[axis];
  return width;
}

/// Moves a table's copies to new memory, so that an earlier optimizer can detect it, and returns the first copy's new
/// address.
const void* moved_here(const Variable& table) {
  const std::vector<Tensor>& copies = table.state().copies();
  for (std::size_t i = 0; i < copies.size(); ++i)
    table.state().move_copy(static_cast<int>(i), Tensor::empty(table.shape(), DType::f32, copies[i].device()));
  return copies.front().raw_data();
}

/// The sum of two gradients of one table; the first may be undefined.
DenseOrSparse plus(const DenseOrSparse& a, const DenseOrSparse& b) {
  if (!is_defined(a)) return b;
  const auto* const rows_a = std::get_if<IndexedSlices>(&a);
  const auto* const rows_b = std::get_if<IndexedSlices>(&b);
  if (rows_a && rows_b) return sum_duplicates(joined(*rows_a, *rows_b));
  const Tensor sum = Tensor::zeros(rows_a ? rows_a->dense_shape : std::get<Tensor>(a).shape());
  for (const DenseOrSparse* const part : {&a, &b}) {
    if (const auto* const rows = std::get_if<IndexedSlices>(part))
      scatter_add(*rows, sum);
    else
      launch(kernels::Binary{BinaryOp::add, sum, std::get<Tensor>(*part), sum});
  }
  return sum;
}

}  // namespace

RowReducer::RowReducer(std::vector<Variable> tables, const std::vector<LogicalDevice>& devices,
                       const ReducerOptions& options)
    : every_row_(options.every_row), own_copies_(options.own_copies) {
  check_optimizable(tables, devices.size());
  for (Variable& variable : tables) {
    Table table{.variable = variable, .memory = moved_here(variable), .state = {}, .gradients = {}, .accumulated = {}};
    for (std::size_t replica = 0; replica < (own_copies_ ? devices.size() : 1); ++replica) {
      const ContextScope there(context_on(devices[replica]));
      std::vector<Tensor>& state = table.state.emplace_back();
      for (const float start : options.slots) state.push_back(Tensor::full(table.variable.shape(), start));
    }
    table.gradients.resize(devices.size());
    table.accumulated.resize(devices.size());
    tables_.push_back(std::move(table));
  }
}

bool RowReducer::holds_variables() const {
  return std::ranges::all_of(
      tables_, [](const Table& table) { return table.variable.state().copies().front().raw_data() == table.memory; });
}

void RowReducer::set_state(int table, std::size_t slot, const Tensor& value) const {
  for (const std::vector<Tensor>& of_replica : tables_[static_cast<std::size_t>(table)].state)
    assign(value, of_replica.at(slot));
}

void RowReducer::load(int replica, int table, const DenseOrSparse& gradient) {
  Table& of = tables_[static_cast<std::size_t>(table)];
  const Shape& shape = of.variable.shape();
  DenseOrSparse& own = of.gradients[static_cast<std::size_t>(replica)];
  const LogicalDevice& here = current_context().device;
  if (const auto* const rows = std::get_if<IndexedSlices>(&gradient)) {
    const IndexedSlices summed =
        sum_duplicates({reachable_from(here, rows->values), reachable_from(here, rows->indices), rows->dense_shape});
    const std::vector<std::int64_t> indices = summed.indices.to_vector<std::int64_t>();  // increasing
    require(indices.empty() || (indices.front() >= 0 && indices.back() < shape[0]),
            "the gradient of '{}' has rows {} to {}, the variable rows 0 to {}", of.variable.name(),
            indices.empty() ? 0 : indices.front(), indices.empty() ? 0 : indices.back(), shape[0] - 1);
    own = summed;
  } else if (is_defined(gradient)) {
    own = reachable_from(here, std::get<Tensor>(gradient));
  } else {
    Shape no_rows = shape;
    no_rows[0] = 0;
    own = IndexedSlices{Tensor::empty(no_rows), Tensor::empty({0}, DType::i64), shape};
  }
}

void RowReducer::accumulate(int replica) {
  for (Table& table : tables_) {
    DenseOrSparse& sum = table.accumulated[static_cast<std::size_t>(replica)];
    sum = plus(sum, table.gradients[static_cast<std::size_t>(replica)]);
  }
}

void RowReducer::apply(const ReplicaContext& context, const UpdateFn& update) {
  const int replica = context.local_replica();
  std::vector<DenseOrSparse> gradients;
  {
    const PhaseTimer timer(Phase::reduce);
    for (Table& table : tables_)
      gradients.push_back(
          plus(std::exchange(table.accumulated[replica], Tensor()), std::exchange(table.gradients[replica], Tensor())));
    gradients = lockstep::all_reduce(context.communicator(), replica, ReduceOp::sum, gradients);
  }
  {
    const PhaseTimer timer(Phase::update);
    for (std::size_t i = 0; i < tables_.size(); ++i)
      update_share(tables_[i], replica, context.num_local_replicas(), gradients[i], update);
  }
  const PhaseTimer timer(Phase::reduce);
  context.local_barrier("the end of the update of rows");
}

void RowReducer::update_share(Table& table, int replica, int replicas, const DenseOrSparse& gradient,
                              const UpdateFn& update) {
  const Shape& shape = table.variable.shape();
  const std::int64_t width = width_of(shape);
  const auto* const slices = std::get_if<IndexedSlices>(&gradient);
  const int share = own_copies_ ? 0 : replica;
  const int shares = own_copies_ ? 1 : replicas;
  const auto [begin, end] = part(shape[0], share, shares);
  std::vector<Run> runs{{begin, end - begin, 0}};
  if (slices && !every_row_) runs = runs_of(slices->indices.to_vector<std::int64_t>(), share, shares);
  if (runs.empty() || width == 0) return;

  const std::int64_t rows = runs.back().place + runs.back().count;
  const Tensor gradients =
      slices ? gradients_of(runs, rows, *slices, width) : std::get<Tensor>(gradient).slice_view(0, begin, end);
  std::vector<float*> parameters;
  for (const Tensor& copy : table.variable.state().copies()) parameters.push_back(copy.data<float>());
  if (own_copies_) parameters = {parameters.at(static_cast<std::size_t>(replica))};
  std::vector<float*> state;
  for (const Tensor& slot : table.state[own_copies_ ? static_cast<std::size_t>(replica) : 0])
    state.push_back(slot.data<float>());
  for (const Run& run : runs) {
    if (run.count == 0) continue;
    const float* const from = gradients.data<float>() + run.place * width;
    const std::int64_t offset = run.first * width;
    update({std::span(&from, 1), moved(parameters, offset), moved(state, offset), run.count * width});
  }
}

}  // namespace lockstep
