#include "lockstep/models/libtorch/module_replicas.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include <ATen/MemoryOverlap.h>
#include <ATen/Parallel.h>
#include <torch/utils.h>

#include <lockstep/models/libtorch/tensor.h>
#include <lockstep/strategy/comm/cluster/cluster.h>
#include <lockstep/strategy/strategies/verify.h>

namespace lockstep::libtorch {
namespace {

void check_outside_replicas(const char* what) {
  require<LogicError>(!current_context().in_replica(), "{} inside a replica; call it outside strategy.run()", what);
}

std::string type_of(const torch::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.scalar_type() << " " << tensor.sizes();
  return text.str();
}

std::string text(const torch::Tensor& tensor) { return type_of(tensor) + (tensor.requires_grad() ? "" : ", frozen"); }

/// All parameters and buffers of a module, with repetitions.
std::vector<torch::Tensor> registered(const torch::nn::Module& module) {
  std::vector<torch::Tensor> all = module.parameters();
  const std::vector<torch::Tensor> buffers = module.buffers();
  all.insert(all.end(), buffers.begin(), buffers.end());
  return all;
}

bool contains(const std::vector<torch::Tensor>& tensors, const torch::Tensor& tensor) {
  return std::ranges::any_of(tensors, [&](const torch::Tensor& other) { return other.is_same(tensor); });
}

/// The tensors of a module, without repetitions.
std::vector<std::pair<std::string, torch::Tensor>> distinct(const torch::OrderedDict<std::string, torch::Tensor>& all) {
  std::vector<std::pair<std::string, torch::Tensor>> found;
  for (const auto& item : all) {
    const bool seen = std::ranges::any_of(found, [&](const auto& other) { return other.second.is_same(item.value()); });
    if (!seen && item.value().defined()) found.emplace_back(item.key(), item.value());
  }
  return found;
}

std::vector<NamedTensors> tensors_of(const std::vector<std::shared_ptr<torch::nn::Module>>& modules) {
  std::vector<NamedTensors> tensors;
  for (std::size_t replica = 0; replica < modules.size(); ++replica) {
    std::size_t next = 0;
    const auto add = [&](const std::string& name, const torch::Tensor& tensor, bool is_buffer) {
      if (replica == 0) tensors.push_back({name, {}, is_buffer});
      const NamedTensors* const first = next < tensors.size() ? &tensors[next] : nullptr;
      require(first && first->name == name && (replica == 0 || text(first->replicas.front()) == text(tensor)),
              "the modules differ: replica {} has {} {} where replica 0 has {} {}; make them all alike", replica, name,
              text(tensor), first ? first->name : "nothing", first && replica > 0 ? text(first->replicas.front()) : "");
      require(!contains(first->replicas, tensor),
              "replica {} has the same '{}' as another: the function passed to mirror() must make a new module",
              replica, name);
      tensors[next++].replicas.push_back(tensor);
    };
    for (const auto& [name, tensor] : distinct(modules[replica]->named_parameters())) add(name, tensor, false);
    for (const auto& [name, tensor] : distinct(modules[replica]->named_buffers())) add(name, tensor, true);
    require(next == tensors.size(), "the modules differ: replica {} has {} parameters and buffers, replica 0 has {}",
            replica, next, tensors.size());
  }
  return tensors;
}

/// Tensors of a module get separate memory, so they must not have had the same.
void check_memory_is_separate(const std::vector<NamedTensors>& all) {
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t other = 0; other < i; ++other) {
      const torch::Tensor& a = all[other].replicas.front();
      const torch::Tensor& b = all[i].replicas.front();
      require<Unsupported>(
          !a.is_alias_of(b) || at::get_overlap_status(a, b) == at::MemOverlapStatus::No,
          "'{}' and '{}' share memory, but are different tensors: register one tensor under both names",
          all[other].name, all[i].name);
    }
}

/// Sets the values of the first module of every worker to the chief's. Throws InvalidArgument on all workers if their
/// modules differ.
void take_values_of_chief(Cluster& workers, const std::vector<NamedTensors>& all) {
  constexpr std::string_view place = "the values of a mirrored module";
  workers.agree(place, "the number of parameters and buffers is", fmt::format("{}", all.size()));
  for (const NamedTensors& tensors : all) {
    torch::Tensor first = tensors.replicas.front().detach();
    workers.agree(place, "a module has", fmt::format("'{}' {}", tensors.name, text(tensors.replicas.front())));
    const torch::Tensor values = first.contiguous();
    workers.broadcast(place, {static_cast<std::byte*>(values.data_ptr()), values.nbytes()});
    first.copy_(values);
  }
}

void check(const Strategy& strategy) {
  check_outside_replicas("mirror() was called");
  for (const LogicalDevice& device : strategy.devices())
    require<Unsupported>(device.kind == DeviceKind::cpu, "lockstep::libtorch runs on CPUs only, the strategy has {}",
                         device.name());
  const LogicalDevice& first = strategy.devices().front();
  require<Unsupported>(
      strategy.state()->parameter_devices().size() == strategy.devices().size(),
      "lockstep::libtorch needs a copy of the parameters for each replica; the strategy has one, on {}", first.name());
}

}  // namespace

ModuleReplicas::ModuleReplicas(const Strategy& strategy, std::vector<std::shared_ptr<torch::nn::Module>> modules)
    : strategy_(strategy),
      modules_(std::move(modules)),
      tensors_(
          (check(strategy), notify_on_failure(strategy.state()->cluster(), [&] { return tensors_of(modules_); }))) {
  check_memory_is_separate(tensors_);
  const torch::NoGradGuard no_grad;
  if (Cluster* const workers = strategy_.state()->cluster()) take_values_of_chief(*workers, tensors_);
  at::get_num_threads();  // sets this thread's number before the replicas set theirs
  for (const NamedTensors& tensors : tensors_) {
    variables_.push_back(make_variable(tensors));
    if (variables_.back().defined() && variables_.back().trainable()) parameters_.push_back(variables_.back());
  }
  gradients_ = std::make_shared<GradientSums>(strategy_, parameters_);  // moves the parameters
  checked_.assign(modules_.size(), -1);
  use_variables();
  for (std::size_t replica = 0; replica < modules_.size(); ++replica) {
    registered_.push_back(registered(*modules_[replica]));
    std::vector<torch::Tensor> trained;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (variables_[i].defined() && variables_[i].trainable()) trained.push_back(tensors_[i].replicas[replica]);
    gradients_->attach(static_cast<int>(replica), trained);
  }
}

Variable ModuleReplicas::make_variable(const NamedTensors& tensors) const {
  const torch::Tensor& first = tensors.replicas.front();
  const std::optional<DType> dtype = dtype_of(first.scalar_type());
  const bool trainable = !tensors.is_buffer && first.requires_grad();
  require<Unsupported>(!trainable || dtype == DType::f32,
                       "parameter '{}' is {}: only Float can be trained over replicas", tensors.name, text(first));
  if (!dtype) return {};
  const bool floating = dtype == DType::f32 || dtype == DType::bf16;
  const Scope scope = strategy_.scope();
  return Variable({.name = tensors.name,
                   .shape = shape_of(first),
                   .initializer = [&](const Tensor& value) { as_torch(value).copy_(first); },
                   .dtype = *dtype,
                   .trainable = trainable,
                   .synchronization = tensors.is_buffer ? Synchronization::on_read : Synchronization::on_write,
                   .aggregation = tensors.is_buffer && floating ? Aggregation::mean : Aggregation::only_first_replica});
}

void ModuleReplicas::prepare(int replica) const {
  const auto own = static_cast<std::size_t>(replica);
  if (checked_[own] != gradients_->backwards(replica)) check_registered(own);
  checked_[own] = gradients_->backwards(replica);
  adopt(own);
  gradients_->renew_hooks(replica);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const bool trained = variables_[i].defined() && variables_[i].trainable();
    require<LogicError>(trained || !tensors_[i].replicas[own].requires_grad(),
                        "parameter '{}' was frozen when its module was mirrored: its gradients would not be summed; "
                        "freeze it after mirror() instead",
                        tensors_[i].name);
  }
}

void ModuleReplicas::check_registered(std::size_t replica) const {
  const torch::nn::Module& module = *modules_[replica];
  const std::vector<torch::Tensor>& before = registered_[replica];
  if (std::ranges::equal(registered(module), before, [](const auto& a, const auto& b) { return a.is_same(b); })) return;
  for (const auto& all : {module.named_parameters(), module.named_buffers()})
    for (const auto& item : all)
      require<LogicError>(contains(before, item.value()),
                          "'{}' was registered after mirror(), so the replicas would differ: register it in the "
                          "function passed to mirror()",
                          item.key());
  fail<LogicError>("parameters or buffers were removed from the module after mirror()");
}

void ModuleReplicas::adopt(std::size_t replica) const {
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!variables_[i].defined()) continue;
    const torch::Tensor& tensor = tensors_[i].replicas[replica];
    const Tensor& memory = variables_[i].state().copies()[replica];
    if (tensor.data_ptr() == memory.raw_data()) continue;
    const torch::Tensor copy = as_torch(memory);
    require<LogicError>(tensor.scalar_type() == copy.scalar_type() && tensor.sizes() == copy.sizes(),
                        "'{}' has become {} after mirror(), it was {}: convert the module in the function passed to "
                        "mirror()",
                        tensors_[i].name, type_of(tensor), type_of(copy));
    if (tensor.data_ptr() != memory_[replica][i]) {
      variables_[i].state().set_changed(static_cast<int>(replica));
      copy.copy_(tensor);
    }
    tensor.set_data(copy);
    memory_[replica][i] = copy.data_ptr();
  }
}

void ModuleReplicas::adopt_all(const char* what) const {
  check_outside_replicas(what);
  for (std::size_t replica = 0; replica < modules_.size(); ++replica) adopt(replica);
}

std::vector<std::string> ModuleReplicas::unused_parameters(int replica) const {
  const std::vector<char>& used = gradients_->used(replica);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (!used[i]) names.push_back(parameters_[i].name());
  return names;
}

void ModuleReplicas::with_mean_buffers(const std::function<void(torch::nn::Module&)>& use) const {
  adopt_all("a mirrored module was saved");
  const torch::NoGradGuard no_grad;
  std::vector<std::pair<torch::Tensor, torch::Tensor>> own;  // buffers of the first module, and their own values
  const auto restore = [&] {
    for (auto& [buffer, value] : own) buffer.copy_(value);
  };
  try {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (!tensors_[i].is_buffer || !variables_[i].defined()) continue;
      const Tensor mean = variables_[i].value();
      torch::Tensor buffer = tensors_[i].replicas.front();
      own.emplace_back(buffer, buffer.clone());
      buffer.copy_(as_torch(mean));
    }
    use(*modules_.front());
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

void ModuleReplicas::synchronize_buffers() const {
  adopt_all("synchronize_buffers() was called");
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!tensors_[i].is_buffer) continue;
    if (variables_[i].defined())
      variables_[i].assign(variables_[i].value());
    else
      for (const torch::Tensor& buffer : tensors_[i].replicas) buffer.copy_(tensors_[i].replicas.front());
  }
}

void ModuleReplicas::verify() const {
  adopt_all("verify() was called");
  std::vector<Variable> parameters;  // also the frozen ones
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (!tensors_[i].is_buffer && variables_[i].defined()) parameters.push_back(variables_[i]);
  verify_mirrored(parameters, strategy_.state()->cluster());
}

void ModuleReplicas::load_first(const std::function<void(torch::nn::Module&)>& load) const {
  adopt_all("a mirrored module was loaded");
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> before;
  for (const NamedTensors& tensors : tensors_) before.push_back(tensors.replicas.front().detach().clone());
  try {
    load(*modules_.front());
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      require<InputError>(tensors_[i].replicas.front().sizes() == before[i].sizes(), "'{}' was loaded as {}, it is {}",
                          tensors_[i].name, text(tensors_[i].replicas.front()), text(before[i]));
  } catch (...) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) torch::Tensor(tensors_[i].replicas.front()).set_data(before[i]);
    adopt(0);
    throw;
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!variables_[i].defined()) continue;
    const VariableState& variable = variables_[i].state();
    for (std::size_t replica = 0; replica < variable.copies().size(); ++replica) {
      variable.set_changed(static_cast<int>(replica));
      as_torch(variable.copies()[replica]).copy_(tensors_[i].replicas.front());
    }
  }
  use_variables();  // libtorch gives loaded tensors new memory
}

void ModuleReplicas::use_variables() const {
  const torch::NoGradGuard no_grad;
  memory_.assign(modules_.size(), std::vector<const void*>(tensors_.size()));
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    for (std::size_t replica = 0; replica < modules_.size(); ++replica) {
      torch::Tensor tensor = tensors_[i].replicas[replica];
      if (variables_[i].defined()) {
        tensor.set_data(as_torch(variables_[i].state().copies()[replica]));
        memory_[replica][i] = tensor.data_ptr();
      } else {
        tensor.copy_(tensors_[i].replicas.front());
      }
    }
}

}  // namespace lockstep::libtorch
