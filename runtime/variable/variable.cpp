#include <lockstep/runtime/variable/variable.h>

namespace lockstep {
namespace {

thread_local std::vector<VariableCreator> creators;

std::shared_ptr<VariableState> create(VariableSpec spec) {
  if (!creators.empty()) return creators.back()(std::move(spec));
  return std::make_shared<VariableState>(std::move(spec), std::vector{current_context().device});
}

}  // namespace

VariableState::VariableState(VariableSpec spec, const std::vector<LogicalDevice>& devices) : spec_(std::move(spec)) {
  for (const LogicalDevice& device : devices) {
    Tensor memory = Tensor::empty(spec_.shape, DType::f32, device);
    if (copies_.empty())
      spec_.initializer(memory);
    else
      copy(copies_.front(), memory);
    copies_.push_back(spec_.trainable ? memory.as_parameter() : memory);
  }
}

void VariableState::assign(const Tensor& value) {
  for (int index = 0; index < static_cast<int>(copies_.size()); ++index) assign_copy(index, value);
}

void VariableState::assign_copy(int index, const Tensor& value) {
  require(value.defined() && value.shape() == spec_.shape && value.dtype() == DType::f32,
          "variable '{}' has shape {} of f32, cannot be assigned {}", spec_.name, spec_.shape, value);
  copy(value, copies_[index]);
}

void VariableState::move_copy(int index, const Tensor& memory) {
  copy(copies_.at(index), memory);
  copies_[index] = memory.in_place_of(copies_[index]);
}

Variable::Variable(VariableSpec spec) : state_(create(std::move(spec))) {}

Tensor Variable::value() const {
  const ExecutionContext& context = current_context();
  if (!context.in_replica()) return state_->read();
  const auto& copies = state_->copies();
  return copies.size() == 1 ? copies.front() : copies.at(static_cast<std::size_t>(context.replica));
}

void Variable::assign(const Tensor& value) const {
  require<LogicError>(!current_context().in_replica(), "variable '{}' can be assigned only outside a replica", name());
  state_->assign(value);
}

VariableCreatorScope::VariableCreatorScope(VariableCreator creator) { creators.push_back(std::move(creator)); }

VariableCreatorScope::~VariableCreatorScope() { creators.pop_back(); }

}  // namespace lockstep
