#include "lockstep/models/layers/operation.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/kernels/op/number.h>
#include <lockstep/models/layers/operation_call.h>
#include <lockstep/runtime/autograd/tape.h>
#include <lockstep/runtime/core/batch_axis.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

const OperationRow* row_of(std::string_view class_name) {
  const auto rows = operation_rows();
  const auto found = std::ranges::find(rows, class_name, &OperationRow::name);
  return found == rows.end() ? nullptr : &*found;
}

/// The arguments of a call on all inputs.
Json all_inputs(const OperationRow& row, std::size_t count) {
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i) list.push_back({{"tensor", i}});
  return row.arguments == one_list ? Json::array({std::move(list)}) : list;
}

/// Adds the numbers of the inputs in the arguments of a call.
void add_inputs(const Json& args, std::set<std::size_t>& inputs) {
  if (args.is_object() && args.contains("tensor"))
    inputs.insert(args["tensor"].get<std::size_t>());
  else if (args.is_structured())
    for (const Json& part : args) add_inputs(part, inputs);
}

/// Throws InvalidArgument unless a call has as many arguments as the operation takes, with each input among them.
void check_arguments(const OperationRow& row, std::size_t inputs, const Json& args) {
  std::set<std::size_t> used;
  add_inputs(args, used);
  const std::size_t takes = row.arguments == one_list ? 1 : static_cast<std::size_t>(std::max(row.arguments, 0));
  require(args.is_array() && (row.arguments == any_number || args.size() == takes),
          "operation {} takes {} argument(s), got {}", row.name, takes, args.dump());
  require(inputs > 0 && used.size() == inputs && *used.rbegin() == inputs - 1,
          "operation {} takes results of layers, each as one of its arguments, got {} for {} of them", row.name,
          args.dump(), inputs);
}

class OperationImpl final : public LayerImpl {
 public:
  OperationImpl(const OperationRow& row, Json options, Json args, std::string name)
      : LayerImpl(std::move(name), {.can_be_captured = true}),
        row_(row),
        options_(std::move(options)),
        args_(std::move(args)) {}

  std::string_view class_name() const override { return row_.name; }
  Shape output_shape(std::span<const Shape> inputs) const override { return shapes_for(inputs).front(); }
  std::vector<Shape> more_output_shapes(std::span<const Shape> inputs) const override {
    std::vector<Shape> shapes = shapes_for(inputs);
    shapes.erase(shapes.begin());
    return shapes;
  }
  Tensor call(std::span<const Tensor> inputs, const LayerCall& call) override {
    const std::vector<Tensor> results = run(inputs);
    if (call.more_results != nullptr) call.more_results->assign(results.begin() + 1, results.end());
    return results.front();
  }
  void describe(LayerConfig& /*config*/) const override {}

  OperationForm form() const { return {std::string("keras.src.ops.") + row_.module, &options_, &args_}; }

 private:
  std::vector<Tensor> run(std::span<const Tensor> inputs) const try {
    check_arguments(row_, inputs.size(), args_);
    const OperationCall call(row_.name, inputs, options_, args_);
    std::vector<Tensor> results = row_.run(call);
    call.check_all_read();
    if (results.empty()) call.refuse("has no result");
    return results;
  } catch (const Json::exception& error) {
    fail("operation {} with {} {}: {}", row_.name, options_.dump(), args_.dump(), error.what());
  }

  /// The shapes of the results. They are those for batches without examples, for which nothing is computed.
  std::vector<Shape> shapes_for(std::span<const Shape> inputs) const {
    const NoGradientScope nothing;
    std::vector<Tensor> batches;
    for (const Shape& input : inputs) batches.push_back(Tensor::zeros(with_batch_axis(input, 0)));
    std::vector<Shape> shapes;
    for (const Tensor& result : run(batches)) {
      const Shape& shape = result.shape();
      const bool keeps_batch =
          shape.rank() >= 1 && shape[0] == 0 && std::find(shape.begin() + 1, shape.end(), 0) == shape.end();
      require(
          keeps_batch,
          "operation {} of inputs {} does not keep the batch axis first: name other axes, or compute it outside the "
          "model",
          row_.name, fmt::join(inputs, " and "));
      shapes.push_back(without_batch_axis(shape));
    }
    return shapes;
  }

  const OperationRow& row_;
  Json options_;
  Json args_;
};

}  // namespace

void OperationCall::refuse(const std::string& why) const { fail("operation {} {}", name_, why); }

const Json& OperationCall::value(const char* key) const {
  static const Json none;
  read_.insert(key);
  const auto found = options_.find(key);
  return found == options_.end() ? none : *found;
}

int OperationCall::own_axis(const char* key, std::int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) refuse(fmt::format("has no {} {} of {}", key, axis, rank));
  const int own = static_cast<int>(axis < 0 ? axis + rank : axis);
  if (own == 0) refuse(fmt::format("cannot work along the batch axis; its {} must be another one", key));
  return own;
}

int OperationCall::axis(const char* key, int otherwise) const {
  const Json& found = value(key);
  const Json& one = found.is_array() && found.size() == 1 ? found[0] : found;
  return own_axis(key, one.is_null() ? otherwise : one.get<std::int64_t>(), x[0].rank());
}

int OperationCall::new_axis(const char* key, int otherwise, int rank) const {
  const Json& found = value(key);
  const Json& one = found.is_array() && found.size() == 1 ? found[0] : found;
  return own_axis(key, one.is_null() ? otherwise : one.get<std::int64_t>(), rank);
}

std::vector<int> OperationCall::axes(const char* key) const {
  const Json& found = value(key);
  if (found.is_null()) refuse(fmt::format("needs an {}: all axes include the batch's", key));
  std::vector<int> axes;
  for (const Json& axis : found.is_array() ? found : Json::array({found}))
    axes.push_back(own_axis(key, axis.get<std::int64_t>(), x[0].rank()));
  return axes;
}

bool OperationCall::flag(const char* key) const {
  const Json& found = value(key);
  return !found.is_null() && found.get<bool>();
}

double OperationCall::number(const char* key, double otherwise) const {
  const Json& found = value(key);
  return found.is_null() ? otherwise : found.get<double>();
}

std::int64_t OperationCall::integer(const char* key) const { return value(key).get<std::int64_t>(); }

const Json& OperationCall::argument(std::size_t i) const {
  if (i >= args_.size()) refuse(fmt::format("needs {} arguments, got {}", i + 1, args_.size()));
  return args_[i];
}

Tensor OperationCall::operand(std::size_t i) const {
  const Json& given = argument(i);
  if (given.is_object() && given.contains("tensor")) {
    const auto input = given["tensor"].get<std::size_t>();
    if (input >= x.size()) refuse(fmt::format("has no input {}", input));
    return x[input];
  }
  if (!given.is_number()) refuse("takes results of layers and numbers, got " + given.dump());
  return number_like("operation", x[0], given.get<double>());
}

void OperationCall::check_all_read() const {
  for (const auto& [key, value] : options_.items())
    if (key != "name" && !value.is_null() && !read_.contains(key))
      refuse(fmt::format("with {} = {} is not supported; leave it out", key, value.dump()));
}

bool is_operation_name(std::string_view class_name) { return row_of(class_name) != nullptr; }

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const OperationRow& row : operation_rows()) names.emplace_back(row.name);
  return names;
}

Layer operation_layer(std::string_view class_name, const Json& options, const Json& args, std::size_t inputs,
                      std::string name) {
  const OperationRow* const row = row_of(class_name);
  require(row != nullptr, "operation {} is not supported; known are {}; build it of these or of layers", class_name,
          fmt::join(operation_names(), ", "));
  return Layer(std::make_shared<OperationImpl>(*row, options, args.is_null() ? all_inputs(*row, inputs) : args,
                                               std::move(name)));
}

OperationForm operation_form(const LayerImpl& layer) {
  const auto* const operation = dynamic_cast<const OperationImpl*>(&layer);
  return operation == nullptr ? OperationForm() : operation->form();
}

}  // namespace lockstep
