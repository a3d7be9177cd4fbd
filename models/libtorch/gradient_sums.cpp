#include "lockstep/models/libtorch/gradient_sums.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <lockstep/kernels/kernel.h>
#include <lockstep/kernels/update/update_kernels.h>
#include <lockstep/models/libtorch/tensor.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/reduce/bucket_plan.h>

namespace lockstep::libtorch {
namespace {

/// A variable whose gradients count the replicas that use each of `variables`, followed by `variables`. The arena's
/// order is reversed, so that the counts are in the last bucket, which is exchanged when all gradients are final.
std::vector<Variable> behind_use_counts(const Strategy& strategy, const std::vector<Variable>& variables) {
  const Scope scope = strategy.scope();
  std::vector<Variable> all{Variable(
      {.name = "use_counts",
       .shape = {std::max<std::int64_t>(1, static_cast<std::int64_t>(variables.size()))},  // a bucket needs one
       .initializer = [](const Tensor& counts) { std::ranges::fill(counts.span<float>(), 0.0F); }})};
  all.insert(all.end(), variables.begin(), variables.end());
  return all;
}

/// libtorch's handle to the node that accumulates a parameter's gradient.
using Node = decltype(torch::autograd::impl::grad_accumulator(torch::Tensor()));

/// The index in the arena of a variable of the module.
std::size_t in_arena(std::size_t variable) { return variable + 1; }

std::string next_name(const std::vector<Variable>& variables) {
  static std::atomic<int> modules = 0;
  return fmt::format("the gradients of mirrored module {} ('{}', ...)", ++modules,
                     variables.empty() ? "" : variables.front().name());
}

/// Calls `call` before libtorch adds to a parameter's gradient, but not if a node's backward has returned no gradient.
template <class Call>
struct BeforeGradient : torch::autograd::FunctionPreHook {
  explicit BeforeGradient(Call call) : call(std::move(call)) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& gradients) override {
    if (gradients[0].defined()) call();
    return gradients;
  }
  Call call;
};

/// The module whose buckets are exchanged while this thread's backward computes. Exchanges of several modules cannot
/// overlap.
thread_local GradientSums* exchanging = nullptr;

}  // namespace

GradientSums::GradientSums(const Strategy& strategy, const std::vector<Variable>& variables)
    : strategy_(strategy),
      variables_(variables),
      arena_(behind_use_counts(strategy, variables), strategy.devices()),
      buckets_(plan_buckets(arena_.sizes_in_order())),
      variables_in_bucket_(buckets_.size()),
      own_(strategy.devices().size()),
      name_(next_name(variables)) {
  for (int variable = 0; variable < static_cast<int>(arena_.variables().size()); ++variable) {
    bucket_of_.push_back(bucket_of(buckets_, arena_.range_of(variable).begin));
    ++variables_in_bucket_[bucket_of_.back()];
  }
}

void GradientSums::attach(int replica, const std::vector<torch::Tensor>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& sum = arena_.slots(replica)[in_arena(i)].destination;
    own(replica).parameters.push_back({.value = parameters[i], .sum = as_torch(sum), .node = {}});
    add_hook(replica, i);
  }
  own(replica).used.assign(parameters.size(), 1);
}

void GradientSums::add_hook(int replica, std::size_t variable) {
  Parameter& parameter = own(replica).parameters[variable];
  auto node = torch::autograd::impl::grad_accumulator(parameter.value);
  if (!node) return;  // the parameter has been frozen since
  if (parameter.node && static_cast<Node*>(parameter.node.get())->get() == node.get()) return;
  const auto call = [weak = weak_from_this(), replica, variable](auto function, auto... arguments) {
    if (const auto sums = weak.lock()) (sums.get()->*function)(replica, variable, arguments...);
  };
  const auto before = [call] { call(&GradientSums::before_gradient); };
  node->add_pre_hook(std::make_unique<BeforeGradient<decltype(before)>>(before));
  node->add_post_hook(std::make_unique<torch::autograd::utils::LambdaPostHook>(
      [call](const torch::autograd::variable_list& outputs, const torch::autograd::variable_list& inputs) {
        call(&GradientSums::on_gradient, inputs[0].defined());
        return outputs;
      }));
  parameter.node = std::make_shared<Node>(std::move(node));
}

void GradientSums::renew_hooks(int replica) {
  for (std::size_t i = 0; i < variables_.size(); ++i) add_hook(replica, i);
}

/// Before libtorch adds to a gradient that all replicas have: keeps it in the first replica only.
void GradientSums::before_gradient(int replica, std::size_t variable) {
  const ExecutionContext& here = current_context();
  const bool alone = strategy_.num_replicas_in_sync() == 1;
  require<LogicError>(alone || (here.replica == replica && get_strategy() == strategy_),
                      "backward of replica {}'s module runs outside that replica; call it inside strategy.run()",
                      replica);
  Parameter& parameter = own(replica).parameters[variable];
  torch::Tensor& gradient = parameter.value.mutable_grad();
  if (std::exchange(parameter.local, true) && gradient.defined()) return;  // undefined: it was set to zero since
  parameter.had_sum = gradient.defined();
  if (parameter.had_sum && strategy_.state()->first_replica() + replica > 0) gradient = torch::Tensor();
}

void GradientSums::on_gradient(int replica, std::size_t variable, bool added) {
  Own& own = this->own(replica);
  if (own.pauses > 0) return;
  if (own.backward == -1) begin(replica);
  if (!added) return;
  Parameter& parameter = own.parameters[variable];
  require<LogicError>(!parameter.final,
                      "a backward inside another backward adds to the gradient of '{}', which the outer one has "
                      "already finished; call it after that one",
                      variables_[variable].name());
  if (own.backward != torch::autograd::get_current_graph_task_id()) return;  // the outer backward's end takes it
  take(replica, variable);
  own.used[variable] = 1;
  parameter.final = true;
  const std::size_t bucket = bucket_of_[in_arena(variable)];
  if (--own.left_in_bucket[bucket] == 0) report_final(replica, bucket);
}

void GradientSums::begin(int replica) {
  const int backward = torch::autograd::get_current_graph_task_id();
  require<LogicError>(!exchanging || exchanging->own(replica).backward == backward,
                      "a backward inside the backward of another mirrored module; call it after that one");
  Own& own = this->own(replica);
  own.left_in_bucket = variables_in_bucket_;
  std::ranges::fill(own.used, 0);
  own.backward = backward;
  if (!exchanging) exchanging = this;
  // libtorch destroys the callback at the end of backward, even if backward fails before it calls it.
  const std::shared_ptr<void> running(nullptr, [&own, keep = shared_from_this()](void*) {
    own.backward = -1;
    for (Parameter& parameter : own.parameters) parameter.final = false;
    if (exchanging == keep.get()) exchanging = nullptr;
  });
  torch::autograd::Engine::get_default_engine().queue_callback([this, replica, running] { finish(replica); });
}

/// Moves the replica's gradient of a variable to the arena.
void GradientSums::take(int replica, std::size_t variable) {
  const Parameter& parameter = own(replica).parameters[variable];
  torch::Tensor& gradient = parameter.value.mutable_grad();
  if (gradient.is_same(parameter.sum)) return;
  const torch::NoGradGuard no_grad;
  parameter.sum.copy_(gradient.is_sparse() ? gradient.to_dense() : gradient);
  gradient = parameter.sum;
}

FlatViews GradientSums::views_of(int replica) const {
  return {arena_.gradients(), arena_.gradients(), {}, arena_.gradients_of(replica), name_.c_str()};
}

void GradientSums::report_final(int replica, std::size_t bucket) {
  if (exchanging != this) return;
  get_replica_context().gradient_update().gradients_final(replica, views_of(replica), buckets_, bucket);
}

std::vector<torch::Tensor> GradientSums::take_unsummed(int replica) {
  Own& own = this->own(replica);
  std::vector<torch::Tensor> gradients;
  for (std::size_t i = 0; i < own.parameters.size(); ++i) {
    before_gradient(replica, i);
    own.parameters[i].local = false;
    gradients.push_back(std::exchange(own.parameters[i].value.mutable_grad(), torch::Tensor()));
  }
  ++own.backwards;
  return gradients;
}

void GradientSums::finish(int replica) {
  Own& own = this->own(replica);
  for (std::size_t i = 0; i < own.parameters.size(); ++i) {
    const Parameter& parameter = own.parameters[i];
    if (parameter.final) continue;
    own.used[i] = parameter.local && parameter.value.grad().defined();  // by a backward that only added to it
    before_gradient(replica, i);
    if (parameter.value.grad().defined())
      take(replica, i);
    else
      parameter.sum.zero_();
    const std::size_t bucket = bucket_of_[in_arena(i)];
    if (--own.left_in_bucket[bucket] == 0) report_final(replica, bucket);
  }
  const auto counts = arena_.slots(replica)[0].destination.span<float>();
  std::ranges::copy(own.used, counts.begin());
  report_final(replica, bucket_of_[0]);

  const auto replace_by_sums = [](const UpdateViews& part) {
    launch(kernels::Reduce{ReduceOp::sum, ReduceViews<float>{part.gradients, part.parameters, part.count}});
  };
  get_replica_context().gradient_update().reduce_and_update(replica, views_of(replica), buckets_, replace_by_sums);
  ++own.backwards;
  for (std::size_t i = 0; i < own.parameters.size(); ++i) {
    Parameter& parameter = own.parameters[i];
    own.used[i] = counts[i] > 0;
    parameter.local = false;
    parameter.value.mutable_grad() = own.used[i] || parameter.had_sum ? parameter.sum : torch::Tensor();
  }
}

}  // namespace lockstep::libtorch
