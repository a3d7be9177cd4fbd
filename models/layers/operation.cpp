#include "lockstep/models/layers/operation.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/kernels/array/arithmetic.h>
#include <lockstep/kernels/op/number.h>
#include <lockstep/models/config/option_visitor.h>
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

struct KerasDType {
  std::string_view name;
  DType dtype;
};
constexpr KerasDType keras_dtypes[] = {{"float32", DType::f32}, {"bfloat16", DType::bf16}, {"int32", DType::i32},
                                       {"int64", DType::i64},   {"uint8", DType::u8},      {"bool", DType::boolean}};

/// The dtype to which Keras converts operands of these dtypes.
DType wider(DType a, DType b) {
  constexpr DType narrow_to_wide[] = {DType::boolean, DType::u8, DType::i32, DType::i64, DType::bf16, DType::f32};
  return *std::max(std::ranges::find(narrow_to_wide, a), std::ranges::find(narrow_to_wide, b));
}

/// Appends the numbers in nested lists, and sets `shape` to their sizes. Returns false for anything else.
bool append_numbers(const Json& value, int depth, Shape& shape, std::vector<double>& numbers) {
  if (!value.is_array()) {
    if (!value.is_number() && !value.is_boolean()) return false;
    numbers.push_back(value.is_boolean() ? value.get<bool>() : value.get<double>());
    return depth == shape.rank();
  }
  const auto size = static_cast<std::int64_t>(value.size());
  if (depth == shape.rank() && numbers.empty() && depth < Shape::max_rank) shape.push_back(size);
  if (depth >= shape.rank() || shape[depth] != size) return false;
  return std::ranges::all_of(value, [&](const Json& part) { return append_numbers(part, depth + 1, shape, numbers); });
}

bool has_fraction(const Json& value) {
  return value.is_number_float() || (value.is_array() && std::ranges::any_of(value, has_fraction));
}
bool has_number(const Json& value) {
  return value.is_number() || (value.is_array() && std::ranges::any_of(value, has_number));
}

/// The dtype of a tensor in a file. Wider floating-point numbers become f32, and narrower integers i32.
DType dtype_of_constant(std::string_view name) {
  if (name == "bool") return DType::boolean;
  if (name == "bfloat16") return DType::bf16;
  if (name.starts_with("float")) return DType::f32;
  return name == "uint8" ? DType::u8 : name.ends_with("64") || name == "uint32" ? DType::i64 : DType::i32;
}

/// A constant in the arguments of a call: a number, nested lists of numbers, or a tensor in Keras' form.
std::optional<Tensor> constant_of(const Json& given) {
  const std::string class_name = given.is_object() ? given.value("class_name", "") : "";
  const bool is_tensor = class_name == "__tensor__" || class_name == "__numpy__";
  const Json& value = is_tensor ? given.at("config").at("value") : given;
  Shape shape;
  std::vector<double> numbers;
  if (!append_numbers(value, 0, shape, numbers)) return {};
  const bool fit_in_i32 = std::ranges::all_of(numbers, [](double number) { return holds(DType::i32, number); });
  const DType dtype = is_tensor             ? dtype_of_constant(given.at("config").at("dtype").get<std::string>())
                      : has_fraction(value) ? DType::f32
                      : has_number(value)   ? (fit_in_i32 ? DType::i32 : DType::i64)
                                            : DType::boolean;
  if (shape.rank() == 0) return number_like("operation", Tensor::empty({}, dtype), numbers[0]);
  if (is_real(dtype)) return cast(Tensor::from(std::vector<float>(numbers.begin(), numbers.end()), shape), dtype);
  if (!std::ranges::all_of(numbers, [](double number) { return holds(DType::i64, number); })) return {};
  return cast(Tensor::from(std::vector<std::int64_t>(numbers.begin(), numbers.end()), shape), dtype);
}

using Constants = std::vector<std::optional<Tensor>>;

/// For each argument of a call, the constant that it is, other than single numbers.
Constants constants_of(const Json& args) {
  Constants constants;
  for (const Json& part : args) constants.push_back(part.is_structured() ? constant_of(part) : std::nullopt);
  return constants;
}

/// The arguments of a call on all inputs.
Json all_inputs(const OperationRow& row, std::size_t count) {
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i) list.push_back({{"tensor", i}});
  return row.arguments == one_list ? Json::array({std::move(list)}) : list;
}

/// Throws InvalidArgument unless a call has as many arguments as the operation takes, and each input is one of them.
void check_arguments(const OperationRow& row, std::size_t inputs, const Json& args) {
  const std::size_t least = row.arguments == one_list ? 1 : static_cast<std::size_t>(std::max(row.arguments, 0));
  const std::size_t most = row.arguments == any_number ? args.size() : least + row.optional.size();
  require(args.is_array() && args.size() >= least && args.size() <= most, "operation {} takes {} argument(s), got {}",
          row.name, most, args.dump());
  std::set<std::int64_t> used;
  const Json& direct = row.arguments == one_list ? args[0] : args;
  for (const Json& part : direct)
    if (part.is_object() && part.contains("tensor"))
      used.insert(is_int64(part["tensor"]) ? part["tensor"].get<std::int64_t>() : -1);
  const bool are_all = inputs > 0 && used.size() == inputs && *used.begin() == 0 &&
                       *used.rbegin() == static_cast<std::int64_t>(inputs) - 1;
  require(are_all, "operation {} takes results of layers, each as one of its arguments, got {} for {} of them",
          row.name, args.dump(), inputs);
  for (const Json& part : direct)
    require(row.arguments != one_list || part.contains("tensor"),
            "operation {} takes a list of results of layers, got {}", row.name, args.dump());
}

class OperationImpl final : public LayerImpl {
 public:
  /// `constants`: those of `args`. They are copied from the host, which cannot be captured.
  OperationImpl(const OperationRow& row, Json options, Json args, Constants constants, std::string name)
      : LayerImpl(std::move(name),
                  {.can_be_captured = std::ranges::none_of(constants, &std::optional<Tensor>::has_value)}),
        row_(row),
        options_(std::move(options)),
        args_(std::move(args)),
        constants_(std::move(constants)) {}

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

  /// The results for batches without examples, for which nothing is computed.
  std::vector<Tensor> results_for(std::span<const Shape> inputs, std::span<const DType> dtypes) const {
    const NoGradientScope nothing;
    std::vector<Tensor> batches;
    for (const Shape& input : inputs) {
      const DType dtype = batches.size() < dtypes.size() ? dtypes[batches.size()] : DType::f32;
      batches.push_back(Tensor::zeros(with_batch_axis(input, 0), dtype));
    }
    return run(batches);
  }

  OperationForm form() const { return {std::string("keras.src.ops.") + row_.module, &options_, &args_}; }

 private:
  std::vector<Tensor> run(std::span<const Tensor> inputs) const try {
    check_arguments(row_, inputs.size(), args_);
    const OperationCall call(row_.name, inputs, options_, args_, constants_);
    std::vector<Tensor> results = row_.run(call);
    call.check_all_read();
    if (results.empty()) call.refuse("has no result");
    return results;
  } catch (const Json::exception& error) {
    fail("operation {} with {} {}: {}", row_.name, options_.dump(), args_.dump(), error.what());
  }

  /// The shapes of the results.
  std::vector<Shape> shapes_for(std::span<const Shape> inputs) const {
    std::vector<Shape> shapes;
    for (const Tensor& result : results_for(inputs, {})) {
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
  Constants constants_;
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
  if (one.is_null() && options_.contains(key)) refuse(fmt::format("needs an {}: all axes include the batch's", key));
  return own_axis(key, one.is_null() ? otherwise : whole<std::int64_t>(key, one), x[0].rank());
}

int OperationCall::new_axis(const char* key, int otherwise, int rank) const {
  const Json& found = value(key);
  const Json& one = found.is_array() && found.size() == 1 ? found[0] : found;
  return own_axis(key, one.is_null() ? otherwise : whole<std::int64_t>(key, one), rank);
}

std::vector<int> OperationCall::own_axes(const char* key, bool inserted) const {
  const Json& found = value(key);
  if (found.is_null()) refuse(fmt::format("needs an {}: all axes include the batch's", key));
  const std::vector<std::int64_t> list = integers(key);
  const int rank = x[0].rank() + (inserted ? static_cast<int>(list.size()) : 0);
  std::vector<int> axes;
  for (const std::int64_t axis : list) axes.push_back(own_axis(key, axis, rank));
  return axes;
}

std::vector<int> OperationCall::axes(const char* key) const { return own_axes(key, false); }
std::vector<int> OperationCall::new_axes(const char* key) const { return own_axes(key, true); }

bool OperationCall::flag(const char* key) const {
  const Json& found = value(key);
  return !found.is_null() && found.get<bool>();
}

double OperationCall::number(const char* key, double otherwise) const {
  const Json& found = value(key);
  return found.is_null() ? otherwise : found.get<double>();
}

std::size_t OperationCall::chosen(const char* key, std::span<const std::string_view> names) const {
  const Json& found = value(key);
  const auto known = std::ranges::find_if(names, [&](std::string_view name) { return found == name; });
  if (known != names.end()) return static_cast<std::size_t>(known - names.begin());
  refuse(fmt::format("has the {}s {} and {}, not {}", key, fmt::join(names.first(names.size() - 1), ", "), names.back(),
                     found.dump()));
}

template <class T>
T OperationCall::whole(const char* key, const Json& value) const {
  if (!is_int64(value) || !std::in_range<T>(value.get<std::int64_t>()))
    refuse(fmt::format("takes whole numbers of {} bits as its {}, got {}", 8 * sizeof(T), key, value.dump()));
  return static_cast<T>(value.get<std::int64_t>());
}

template <class T>
std::vector<T> OperationCall::whole_list(const char* key, const Json& value) const {
  if (!value.is_array()) return {whole<T>(key, value)};
  std::vector<T> list;
  for (const Json& element : value) list.push_back(whole<T>(key, element));
  return list;
}

template int OperationCall::whole(const char* key, const Json& value) const;
template std::vector<int> OperationCall::whole_list(const char* key, const Json& value) const;
template std::int64_t OperationCall::whole(const char* key, const Json& value) const;
template std::vector<std::int64_t> OperationCall::whole_list(const char* key, const Json& value) const;

std::int64_t OperationCall::integer(const char* key) const { return whole<std::int64_t>(key, value(key)); }

std::vector<std::int64_t> OperationCall::integers(const char* key) const {
  return whole_list<std::int64_t>(key, value(key));
}

const Json& OperationCall::argument(std::size_t i) const {
  static const Json none;
  return i < args_.size() ? args_[i] : none;
}

bool OperationCall::is_input(std::size_t i) const {
  const Json& given = argument(i);
  return given.is_object() && given.contains("tensor");
}

Tensor OperationCall::operand(std::size_t i) const {
  const Json& given = argument(i);
  if (is_input(i)) return x[given["tensor"].get<std::size_t>()];
  const std::optional<Tensor> constant = given.is_structured() ? constants_[i] : constant_of(given);
  if (!constant) refuse("takes results of layers, numbers and tensors of numbers, got " + given.dump());
  return *constant;
}

std::vector<Tensor> OperationCall::promoted(const std::vector<std::size_t>& arguments) const {
  std::vector<Tensor> tensors;
  std::optional<DType> wanted;
  bool has_whole = false;
  bool has_fraction = false;
  for (const std::size_t i : arguments) {
    const Tensor& tensor = tensors.emplace_back(operand(i));
    has_whole = has_whole || argument(i).is_number_integer();
    has_fraction = has_fraction || argument(i).is_number_float();
    if (!argument(i).is_primitive()) wanted = wanted ? wider(*wanted, tensor.dtype()) : tensor.dtype();
  }
  if (has_whole && wanted.value_or(DType::boolean) == DType::boolean) wanted = DType::i32;
  if (has_fraction && !is_real(wanted.value_or(DType::boolean))) wanted = DType::f32;
  const DType dtype = wanted.value_or(DType::boolean);
  for (const std::size_t i : arguments) {
    const Json& given = argument(i);
    if (given.is_number_integer() && !is_real(dtype) && !holds(dtype, given.get<double>()))
      refuse(fmt::format("of {} cannot take the number {}; Cast the input first", lockstep::name(dtype), given.dump()));
  }
  for (Tensor& tensor : tensors) tensor = cast(tensor, dtype);
  return tensors;
}

DType OperationCall::dtype(const char* key, DType otherwise) const {
  const Json& found = value(key);
  if (found.is_null()) return otherwise;
  const auto* const known = std::ranges::find_if(keras_dtypes, [&](const auto& row) { return found == row.name; });
  if (known == std::end(keras_dtypes))
    refuse(fmt::format("cannot have the {} {}; use float32, bfloat16, int32, int64, uint8 or bool", key, found.dump()));
  return known->dtype;
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
                      std::string name) try {
  const OperationRow* const row = row_of(class_name);
  require(row != nullptr, "operation {} is not supported; known are {}; build it of these or of layers", class_name,
          fmt::join(operation_names(), ", "));
  Json given = args.is_null() ? all_inputs(*row, inputs) : args;
  Constants constants = constants_of(given);
  return Layer(std::make_shared<OperationImpl>(*row, options, std::move(given), std::move(constants), std::move(name)));
} catch (const Json::exception& error) {
  fail("operation {} with {}: {}", class_name, args.dump(), error.what());
}

OperationForm operation_form(const LayerImpl& layer) {
  const auto* const operation = dynamic_cast<const OperationImpl*>(&layer);
  return operation == nullptr ? OperationForm() : operation->form();
}

std::vector<DType> operation_dtypes(const LayerImpl& layer, std::span<const Shape> inputs,
                                    std::span<const DType> dtypes) {
  const auto* const operation = dynamic_cast<const OperationImpl*>(&layer);
  if (operation == nullptr) return {};
  std::vector<DType> found;
  for (const Tensor& result : operation->results_for(inputs, dtypes))
    found.push_back(is_real(result.dtype()) && layer.compute_dtype() == DType::bf16 ? DType::bf16 : result.dtype());
  return found;
}

std::string_view keras_dtype_name(DType dtype) {
  return std::ranges::find(keras_dtypes, dtype, &KerasDType::dtype)->name;
}

void place_arguments(std::string_view class_name, Json& args, Json& named) {
  const OperationRow* const row = row_of(class_name);
  if (row == nullptr || !args.is_array()) return;
  for (std::size_t i = 0; i < row->optional.size(); ++i) {
    const auto found = named.find(row->optional[i]);
    if (found == named.end()) continue;
    const std::size_t place = static_cast<std::size_t>(row->arguments) + i;
    if (!found->is_null()) args[place] = *found;  // fills the places before it with null
    named.erase(found);
  }
}

}  // namespace lockstep
