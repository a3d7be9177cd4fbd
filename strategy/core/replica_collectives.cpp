#include <atomic>

#include <lockstep/kernels/array/array.h>
#include <lockstep/kernels/op/gradient.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/strategy/core/replica_context.h>

namespace lockstep {
namespace {

/// The shape and dtype of an op's output. Stored instead of the output, which would keep its memory allocated.
struct OutputForm {
  Shape shape;
  DType dtype = DType::f32;
};
std::vector<OutputForm> forms_of(const std::vector<Tensor>& outputs) {
  std::vector<OutputForm> forms;
  for (const Tensor& output : outputs) forms.push_back({output.shape(), output.dtype()});
  return forms;
}

/// The gradients of the floating-point outputs, and the outputs' indices. An output without a gradient on this replica
/// gets zeros, since it may have a gradient on another replica.
struct OutputGradients {
  OutputGradients(const BackwardContext& backward, const std::vector<OutputForm>& outputs) {
    for (int i = 0; i < static_cast<int>(outputs.size()); ++i) {
      const OutputForm& form = outputs[i];
      if (form.dtype != DType::f32 && form.dtype != DType::bf16) continue;
      const Tensor& own = backward.gradient(i);
      places.push_back(i);
      values.push_back(own.defined() ? own : Tensor::zeros(form.shape, form.dtype));
    }
  }
  std::vector<int> places;
  std::vector<Tensor> values;
};

/// Warns once, because the program most likely wants to combine the values of several replicas.
void warn_outside_strategies(const char* function) {
  static std::atomic<bool> warned = false;
  if (!has_strategy() && !warned.exchange(true))
    log_warning("{}() outside every strategy gives its argument back: there is one replica; call it in strategy.run()",
                function);
}

}  // namespace

Tensor ReplicaContext::all_reduce(ReduceOpOrName op, const Tensor& value) const {
  return all_reduce(op, std::vector{value}).front();
}

std::vector<Tensor> ReplicaContext::all_reduce(ReduceOpOrName op, const std::vector<Tensor>& values) const {
  warn_outside_strategies("all_reduce");
  const std::vector<Tensor> results = communicator().all_reduce(replica_, op, values);
  if (recording(values)) {
    require<Unsupported>(op == ReduceOp::sum || op == ReduceOp::mean,
                         "all_reduce of {} has no gradient; use sum or mean", name(op));
    record("all_reduce", values, results, [context = *this, op, forms = forms_of(results)](BackwardContext& backward) {
      const OutputGradients incoming(backward, forms);
      const auto reduced = context.all_reduce(op, incoming.values);
      for (std::size_t i = 0; i < reduced.size(); ++i) pass_on(backward, incoming.places[i], reduced[i]);
    });
  }
  return results;
}

Tensor ReplicaContext::all_reduce(ReduceOpOrName op, double value) const {
  return all_reduce(op, Tensor::full({}, value));
}

IndexedSlices ReplicaContext::all_reduce(ReduceOpOrName op, const IndexedSlices& value) const {
  return std::get<IndexedSlices>(all_reduce(op, std::vector<DenseOrSparse>{value}).front());
}

std::vector<DenseOrSparse> ReplicaContext::all_reduce(ReduceOpOrName op,
                                                      const std::vector<DenseOrSparse>& values) const {
  warn_outside_strategies("all_reduce");
  return lockstep::all_reduce(communicator(), replica_, op, values);
}

Tensor ReplicaContext::all_gather(const Tensor& value, int axis) const {
  return all_gather(std::vector{value}, axis).front();
}

std::vector<Tensor> ReplicaContext::all_gather(const std::vector<Tensor>& values, int axis) const {
  warn_outside_strategies("all_gather");
  std::vector<Tensor> results;
  std::vector<std::int64_t> begins;  // of this replica's parts
  std::vector<std::int64_t> ends;
  for (const Gathered& gathered : communicator().all_gather(replica_, values, axis)) {
    begins.push_back(gathered.offset);
    ends.push_back(gathered.offset + values[results.size()].dim(axis));
    results.push_back(gathered.value);
  }
  if (recording(values)) {
    record("all_gather", values, results,
           [context = *this, begins, ends, axis, forms = forms_of(results)](BackwardContext& backward) {
             const OutputGradients incoming(backward, forms);
             const auto sums = context.all_reduce(ReduceOp::sum, incoming.values);
             for (std::size_t i = 0; i < sums.size(); ++i) {
               const int place = incoming.places[i];
               pass_on(backward, place, slice(sums[i], axis, begins[place], ends[place]));
             }
           });
  }
  return results;
}

void ReplicaContext::all_gather(const IndexedSlices& value, int) const {
  fail<Unsupported>("all_gather does not support IndexedSlices, got {}; gather to_dense() of it, or all_reduce it",
                    value.text());
}

}  // namespace lockstep
