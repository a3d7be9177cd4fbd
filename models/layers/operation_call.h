#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <lockstep/runtime/tensor/tensor.h>

namespace lockstep {

/// A call of an operation on batches, with its tensors and other arguments. The members throw InvalidArgument for the
/// batch axis, for an axis or an argument that does not exist, and for a value that is not a whole number where one is
/// required; they throw a JSON exception for other values of the wrong type.
class OperationCall {
 public:
  /// `constants`: for each element of `args`, its value if it is a constant other than a single number or bool, else
  /// empty. All arguments must outlive this object.
  OperationCall(std::string_view name, std::span<const Tensor> x, const nlohmann::ordered_json& options,
                const nlohmann::ordered_json& args, std::span<const std::optional<Tensor>> constants)
      : x(x), name_(name), options_(options), args_(args), constants_(constants) {}

  std::span<const Tensor> x;  ///< the inputs, with the batch axis

  /// An axis of the first input, converted to a positive number. `otherwise`: the axis if the option is left out.
  int axis(const char* key, int otherwise) const;
  /// Like `axis`, for an axis that the operation inserts; `rank` is the rank of the result.
  int new_axis(const char* key, int otherwise, int rank) const;
  /// Axes that the operation inserts into the first input, as axes of the result. Throws InvalidArgument if the option
  /// is left out.
  std::vector<int> new_axes(const char* key) const;
  /// Axes of the first input. Throws InvalidArgument if the option is left out, because Keras then uses all axes,
  /// including the batch axis.
  std::vector<int> axes(const char* key) const;
  bool flag(const char* key) const;                        ///< false if it is left out
  double number(const char* key, double otherwise) const;  ///< a number; `otherwise` if it is left out
  ///@{
  /// A whole number or a list of whole numbers. integers() also takes a single number, as a list of one. Throw
  /// InvalidArgument if the option is left out.
  std::int64_t integer(const char* key) const;
  std::vector<std::int64_t> integers(const char* key) const;
  ///@}
  ///@{
  /// Like integer() and integers(), for a given value of option `key`. T: int or std::int64_t. Throw InvalidArgument
  /// for other values and for a number that T cannot hold.
  template <class T>
  T whole(const char* key, const nlohmann::ordered_json& value) const;
  template <class T>
  std::vector<T> whole_list(const char* key, const nlohmann::ordered_json& value) const;
  ///@}
  /// A dtype, by Keras' name; `otherwise` if it is left out.
  DType dtype(const char* key, DType otherwise) const;
  /// One of several values, by name; `otherwise` if the option is left out. `choices`: pairs of a name and a value.
  /// Throws InvalidArgument for other names.
  template <class T, class Choices = std::initializer_list<std::pair<std::string_view, T>>>
  T choice(const char* key, T otherwise, const Choices& choices) const {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : choices) names.push_back(name);
    return value(key).is_null() ? otherwise : std::data(choices)[chosen(key, names)].second;
  }
  /// The option's value, of any type; null if it is left out.
  const nlohmann::ordered_json& value(const char* key) const;
  /// Argument i of the call: an input or a constant (a tensor, a number, a bool or nested lists of numbers and bools).
  Tensor operand(std::size_t i) const;
  /// These arguments, cast to one dtype by Keras' rules. The dtype is the widest dtype of the inputs, tensors and lists
  /// among the arguments, or bool if there are none. If the arguments include a single integer, bool becomes i32; if
  /// they include a single fractional number, bool and integer dtypes become f32. Throws InvalidArgument for an integer
  /// that the dtype cannot hold.
  std::vector<Tensor> promoted(const std::vector<std::size_t>& arguments) const;
  std::size_t arguments() const { return args_.size(); }  ///< number of the call's arguments
  /// Whether argument i of the call is an input.
  bool is_input(std::size_t i) const;
  /// Argument i of the call as JSON; null for one that is left out.
  const nlohmann::ordered_json& argument(std::size_t i) const;
  /// Throws InvalidArgument if an option other than "name" has a value that is not null and that no member above has
  /// read.
  void check_all_read() const;
  /// Throws InvalidArgument with the operation's name and `why`.
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  int own_axis(const char* key, std::int64_t axis, int rank) const;
  std::vector<int> own_axes(const char* key, bool inserted) const;
  std::size_t chosen(const char* key, std::span<const std::string_view> names) const;

  std::string_view name_;
  const nlohmann::ordered_json& options_;
  const nlohmann::ordered_json& args_;
  std::span<const std::optional<Tensor>> constants_;
  mutable std::set<std::string> read_{};
};

///@{
/// Special values of OperationRow::arguments. one_list: the call has one argument, the list of the inputs. any_number:
/// the call has any number of arguments, all of them inputs.
inline constexpr int one_list = -1;
inline constexpr int any_number = -2;
///@}

/// An operation of Keras and the function that computes it.
struct OperationRow {
  const char* name;                                       ///< name of Keras' class
  const char* module;                                     ///< module in keras.src.ops
  std::vector<Tensor> (*run)(const OperationCall& call);  ///< computes the results
  int arguments = 1;                                      ///< number of arguments of Keras' call
  std::span<const std::string_view> optional{};           ///< names of further arguments of the call
};

/// The operations that move, select or create elements.
std::span<const OperationRow> array_operation_rows();
/// The operations on images and sequences.
std::span<const OperationRow> image_operation_rows();
/// All operations, ordered by name.
std::span<const OperationRow> operation_rows();

}  // namespace lockstep
