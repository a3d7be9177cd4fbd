#include "lockstep/strategy/comm/cluster/over_workers.h"

#include <algorithm>
#include <numeric>

#include <fmt/ranges.h>

#include <lockstep/kernels/elementwise/elementwise_kernels.h>
#include <lockstep/kernels/op/layout.h>
#include <lockstep/kernels/update/reduce.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/strategy/comm/combine.h>
#include <lockstep/strategy/comm/flat_range.h>

namespace lockstep {
namespace {

std::span<std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.raw_data()),
          static_cast<std::size_t>(tensor.elements()) * size_of(tensor.dtype())};
}

/// Splits each range into one part for each worker, which adds up that part of all workers' ranges.
class Parts {
 public:
  Parts(std::span<const WorkerRange> ranges, std::size_t element, int workers)
      : ranges_(ranges), element_(element), workers_(workers) {}

  std::span<std::byte> part(std::size_t range, int worker) const {
    const WorkerRange& of = ranges_[range];
    const FlatRange shard = shard_of({0, of.elements}, worker, workers_);
    return {static_cast<std::byte*>(of.values) + static_cast<std::size_t>(shard.begin) * element_,
            static_cast<std::size_t>(shard.end - shard.begin) * element_};
  }

 private:
  std::span<const WorkerRange> ranges_;
  std::size_t element_;
  int workers_;
};

template <class T>
void add_part(ReduceOp op, std::span<std::byte> own, const std::vector<std::span<std::byte>>& others, int rank,
              std::int64_t terms) {
  std::vector<const T*> in;
  for (const std::span<std::byte> other : others) in.push_back(reinterpret_cast<const T*>(other.data()));
  T* const out = reinterpret_cast<T*>(own.data());
  in[static_cast<std::size_t>(rank)] = out;
  const auto count = static_cast<std::int64_t>(own.size() / sizeof(T));
  if (count > 0) launch(kernels::Reduce{op, ReduceViews<T>{in, std::span(&out, 1), count, terms}});
}

/// A message that contains a tensor's dtype, the axis and the tensor's shape. Form reads it.
std::string form_text(const Tensor& tensor, int axis) {
  std::vector<std::int64_t> numbers{static_cast<std::int64_t>(tensor.dtype()), axis};
  for (const std::int64_t size : tensor.shape()) numbers.push_back(size);
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::int64_t)};
}

struct Form {
  DType dtype{};
  std::int64_t axis = 0;
  Shape shape;

  explicit Form(const std::string& text) {
    std::vector<std::int64_t> numbers(text.size() / sizeof(std::int64_t));
    std::ranges::copy(text, reinterpret_cast<char*>(numbers.data()));
    dtype = static_cast<DType>(numbers.at(0));
    axis = numbers.at(1);
    for (std::size_t i = 2; i < numbers.size(); ++i) shape.push_back(numbers[i]);
  }
};

/// On a worker with GPUs, the thread of replica 0, whose device is a GPU, calls these functions, but MPI needs host
/// memory.
ExecutionContext on_host() { return context_on(LogicalDevice{}); }

/// The tensor, or a dense copy of it, in host memory.
Tensor for_sending(const Tensor& tensor) { return make_dense(tensor.on_host()); }

}  // namespace

void all_reduce_ranges(Cluster& cluster, std::string_view place, ReduceOp op, DType dtype,
                       std::span<const WorkerRange> ranges, std::int64_t terms, Tensor& scratch, Channel channel) {
  const ContextScope there(on_host());
  const std::size_t element = size_of(dtype);
  const int workers = cluster.size();
  const int rank = cluster.rank();
  const Parts parts(ranges, element, workers);
  for (std::size_t range = 0; range < ranges.size(); ++range) {
    const std::span<std::byte> own = parts.part(range, rank);
    const auto needed = static_cast<std::int64_t>(own.size()) * workers;
    if (!scratch.defined() || scratch.elements() < needed) scratch = Tensor::empty({needed}, DType::u8);
    std::vector<std::span<const std::byte>> to(static_cast<std::size_t>(workers));
    std::vector<std::span<std::byte>> from(static_cast<std::size_t>(workers));
    for (int worker = 0; worker < workers; ++worker) {
      to[static_cast<std::size_t>(worker)] = parts.part(range, worker);
      from[static_cast<std::size_t>(worker)] =
          bytes_of(scratch).subspan(own.size() * static_cast<std::size_t>(worker), own.size());
    }
    cluster.exchange(place, to, from, channel);
    visit_reducible(op, dtype, [&]<class T>() { add_part<T>(op, own, from, rank, terms); });
    for (int worker = 0; worker < workers; ++worker) {
      to[static_cast<std::size_t>(worker)] = own;
      from[static_cast<std::size_t>(worker)] = parts.part(range, worker);
    }
    cluster.exchange(place, to, from, channel);
  }
}

Tensor all_reduce_over(Cluster& cluster, std::string_view place, ReduceOp op, const Tensor& own, std::int64_t terms) {
  cluster.agree(place, "the value to combine is", fmt::format("{} of {}", name(op), own));
  const ContextScope there(on_host());
  const bool wide = own.dtype() == DType::bf16;
  const Tensor result = Tensor::empty(own.shape(), wide ? DType::f32 : own.dtype());
  launch(kernels::Convert{own.on_host(), result});
  Tensor scratch;
  const WorkerRange range{result.raw_data(), result.elements()};
  all_reduce_ranges(cluster, place, op, result.dtype(), std::span(&range, 1), terms, scratch);
  if (!wide) return result;
  const Tensor rounded = Tensor::empty(own.shape(), own.dtype());
  launch(kernels::Convert{result, rounded});
  return rounded;
}

std::vector<std::vector<double>> gather_numbers(Cluster& cluster, std::string_view place, std::span<const double> own) {
  std::vector<std::vector<double>> all;
  const std::string_view message(reinterpret_cast<const char*>(own.data()), own.size_bytes());
  for (const std::string& text : cluster.all_gather(place, message)) {
    all.emplace_back(text.size() / sizeof(double));
    std::ranges::copy(text, reinterpret_cast<char*>(all.back().data()));
  }
  return all;
}

double sum_over(Cluster& cluster, std::string_view place, double own) {
  double sum = 0;
  for (const std::vector<double>& other : gather_numbers(cluster, place, std::span(&own, 1))) sum += other.at(0);
  return sum;
}

Gathered all_gather_over(Cluster& cluster, std::string_view place, const Tensor& own, int axis) {
  const ContextScope there(on_host());
  const Tensor part = for_sending(own);
  const int along = part.shape().normalize_axis(axis);
  std::vector<Form> forms;
  for (const std::string& text : cluster.all_gather(place, form_text(part, along))) forms.emplace_back(text);
  for (std::size_t worker = 1; worker < forms.size(); ++worker) {
    const bool fits = forms[worker].dtype == forms[0].dtype && forms[worker].axis == forms[0].axis &&
                      joinable(forms[worker].shape, forms[0].shape, static_cast<int>(forms[0].axis));
    if (!fits)
      throw_together(
          "values that are joined along axis {} must agree in dtype, rank and all other axes: {} has {} {}, {} has {} "
          "{}",
          along, cluster.name_of(0), name(forms[0].dtype), forms[0].shape, cluster.name_of(static_cast<int>(worker)),
          name(forms[worker].dtype), forms[worker].shape);
  }

  std::vector<Tensor> values;
  for (const Form& form : forms) values.push_back(Tensor::empty(form.shape, form.dtype));
  values[static_cast<std::size_t>(cluster.rank())] = part;
  const std::vector<std::span<const std::byte>> to(forms.size(), bytes_of(part));
  std::vector<std::span<std::byte>> from;
  for (const Tensor& value : values) from.push_back(bytes_of(value));
  cluster.exchange(place, to, from);
  std::int64_t offset = 0;
  for (int worker = 0; worker < cluster.rank(); ++worker)
    offset += forms[static_cast<std::size_t>(worker)].shape[along];
  return {.value = gather_values(values, along), .offset = offset};
}

Tensor value_of_chief(Cluster& cluster, std::string_view place, const Tensor& own) {
  const ContextScope there(on_host());
  const Form form(cluster.all_gather(place, form_text(own, 0)).front());
  const Tensor value = cluster.is_chief() ? for_sending(own) : Tensor::empty(form.shape, form.dtype);
  cluster.broadcast(place, bytes_of(value));
  return value;
}

}  // namespace lockstep
