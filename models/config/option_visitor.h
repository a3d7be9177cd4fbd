#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace lockstep {

/// Whether the value is an integer that std::int64_t holds. JSON also has unsigned integers, up to 2^64 - 1.
bool is_int64(const nlohmann::ordered_json& value);

/// Writes or reads the options of an object as Keras' "config", the JSON that files hold for layers, optimizers, losses
/// and similar objects. An object lists its options once, for both directions. When writing, each function below writes
/// its argument. When reading, each function sets its argument to the value in the file; if the file has no value for
/// the option, the argument is unchanged. For a value that the argument cannot have, reading throws InputError, which
/// names the object, the option and the valid values.
class OptionVisitor {
 public:
  /// A visitor that writes. `object` names the object in messages, e.g. "the optimizer SGD".
  explicit OptionVisitor(std::string object);
  /// A visitor that reads `values`.
  OptionVisitor(std::string object, const nlohmann::ordered_json& values);
  ~OptionVisitor();
  OptionVisitor(const OptionVisitor&) = delete;
  OptionVisitor& operator=(const OptionVisitor&) = delete;

  ///@{
  /// A flag, a number, a string, or a list of numbers. A single integer may also be written as 10.0, as Keras does.
  void option(const char* key, bool& value);
  void option(const char* key, int& value);
  void option(const char* key, std::int64_t& value);
  void option(const char* key, double& value);  ///< also reads a one-element list, as Keras writes metrics' thresholds
  void option(const char* key, std::string& value);
  void option(const char* key, std::vector<std::int64_t>& value);
  void option(const char* key, std::vector<double>& value);
  ///@}
  ///@{
  /// Options that are not written if the value is empty. Reading null, which Keras writes, empties the value.
  void option(const char* key, std::optional<double>& value);
  void option(const char* key, std::optional<int>& value);
  void option_if_any(const char* key, std::vector<double>& value);
  ///@}
  ///@{
  /// A list of one element is written as a number; both forms are read. An empty list of `double` is null in files.
  void one_or_more(const char* key, std::vector<std::int64_t>& value);
  void one_or_more(const char* key, std::vector<double>& value);
  ///@}
  /// One of several values, written by name. `choices`: pairs of a name and a value. Precondition: one has `value`.
  template <class T, class Choices = std::initializer_list<std::pair<std::string_view, T>>>
  void choice(const char* key, T& value, const Choices& choices);

  ///@{
  /// An option for which lockstep supports only this value; reading throws InputError for another value.
  void fixed(const char* key, std::string_view value);
  void fixed(const char* key, double value);
  void fixed(const char* key, std::same_as<bool> auto value) { fixed_flag(key, value); }
  void fixed_null(const char* key);
  ///@}
  /// `fixed` for an option that is not written.
  void fixed_unwritten(const char* key, const auto& value) {
    if (reading_) fixed(key, value);
  }
  /// Reads `old_key`, Keras 2's name of an option, as `key`; if the file has both, uses the value of `old_key`. Call it
  /// before the option itself.
  void renamed(const char* old_key, const char* key);
  /// Accepts and ignores an option that lockstep does not need, such as a seed or the choice of an implementation; does
  /// not write it.
  void passed_over(const char* key);

  /// A number for which null in files means `if_null`.
  template <class Number>
  void option_or(const char* key, Number& value, std::type_identity_t<Number> if_null) {
    std::optional<Number> given = value;
    option(key, given);
    value = given.value_or(if_null);
  }

  /// Throws InputError for an option of the file that was neither read nor ignored (passed_over). Options whose value
  /// is null, false or 0 are accepted. Precondition: this visitor reads.
  void check_all_read() const;
  /// The values written so far, or the values to be read.
  const nlohmann::ordered_json& values() const { return *values_; }
  /// Whether `values` has null for this option.
  bool is_null(const char* key) const;
  /// Whether `values` has a value other than null for this option.
  bool has_value(const char* key) const;

 protected:
  /// Whether this visitor reads.
  bool is_reading() const { return reading_; }
  /// When writing, writes the value and returns null. When reading, marks the option as read and returns its value, or
  /// null if the file does not have the option.
  const nlohmann::ordered_json* exchange(const char* key, const nlohmann::ordered_json& written);
  /// Throws the InputError for a wrong value; `right` describes the valid values.
  [[noreturn]] void refuse(const char* key, const nlohmann::ordered_json& value, std::string_view right) const;
  /// The object's name in messages.
  const std::string& object() const { return object_; }

 private:
  template <class Number>
  void optional_number(const char* key, std::optional<Number>& value);
  void fixed_flag(const char* key, bool value);
  void fixed_value(const char* key, const nlohmann::ordered_json& value);
  /// When writing, writes names[own] and returns `own`. When reading, returns the index in `names` of the file's value,
  /// or `own` if the file has none.
  std::size_t chosen(const char* key, std::size_t own, std::span<const std::string_view> names);

  std::string object_;
  bool reading_ = false;
  std::unique_ptr<nlohmann::ordered_json> values_;
  std::set<std::string> read_;
};

template <class T, class Choices>
void OptionVisitor::choice(const char* key, T& value, const Choices& choices) {
  std::vector<std::string_view> names;
  std::size_t own = 0;
  for (const auto& [name, choice] : choices) {
    if (choice == value) own = names.size();
    names.push_back(name);
  }
  value = std::data(choices)[chosen(key, own, names)].second;
}

/// Reads options; options that the file lacks keep their defaults. Throws the same errors as Options::describe and
/// check_all_read(). Precondition: the visitor reads.
template <class Options, std::same_as<OptionVisitor> Visitor>
requires requires(Options options, Visitor& visitor) { options.describe(visitor); }
Options read_options(Visitor& visitor) {
  Options options;
  options.describe(visitor);
  visitor.check_all_read();
  return options;
}

}  // namespace lockstep
