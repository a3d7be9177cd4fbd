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
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace lockstep {

/// The options of an object under Keras' names and in Keras' values: the "config" that its files have for layers,
/// optimizers, losses and the like. An object lists its options once, for writing and for reading: each function below
/// writes the value that it is given, or sets it to what was read, or leaves it where the file says nothing. They throw
/// InputError, naming object, option and what would be right, for a value that the object cannot take.
class OptionVisitor {
 public:
  /// To be written. `object` is what messages call it: "the optimizer SGD".
  explicit OptionVisitor(std::string object);
  /// To be read.
  OptionVisitor(std::string object, const nlohmann::ordered_json& values);
  ~OptionVisitor();
  OptionVisitor(const OptionVisitor&) = delete;
  OptionVisitor& operator=(const OptionVisitor&) = delete;

  ///@{
  /// A flag, a number, text, or several numbers.
  void option(const char* key, bool& value);
  void option(const char* key, int& value);
  void option(const char* key, std::int64_t& value);
  void option(const char* key, double& value);  ///< also read from a list of one, as metrics have their threshold
  void option(const char* key, std::string& value);
  void option(const char* key, std::vector<std::int64_t>& value);
  void option(const char* key, std::vector<double>& value);
  ///@}
  ///@{
  /// Left out where there is none.
  void option(const char* key, std::optional<double>& value);
  void option_if_any(const char* key, std::vector<double>& value);
  ///@}
  /// A list of one as its number.
  void one_or_more(const char* key, std::vector<std::int64_t>& value);
  /// One of several values, by name.
  template <class T>
  void choice(const char* key, T& value, std::initializer_list<std::pair<std::string_view, T>> choices);

  ///@{
  /// An option that this project has in one value.
  void fixed(const char* key, std::string_view value);
  void fixed(const char* key, double value);
  void fixed(const char* key, std::same_as<bool> auto value) { fixed_flag(key, value); }
  void fixed_null(const char* key);
  ///@}
  /// An option of another name in Keras 2, to be read under its new one.
  void renamed(const char* old_key, const char* key);
  /// What says how, or from which seed, something is computed, and not what: read over, and not written.
  void passed_over(const char* key);

  /// Throws InputError for an option that has been read over, unless it is off (null, false or 0).
  void check_all_read() const;
  /// What was written, or is to be read.
  const nlohmann::ordered_json& values() const { return *values_; }

 protected:
  /// Whether values are set, not written.
  bool is_reading() const { return reading_; }
  /// Writes a value; or gives the one to be read, which counts as read, and null where the file has none.
  const nlohmann::ordered_json* exchange(const char* key, const nlohmann::ordered_json& written);
  /// `right`: what would be.
  [[noreturn]] void refuse(const char* key, const nlohmann::ordered_json& value, std::string_view right) const;
  /// As messages call it.
  const std::string& object() const { return object_; }

 private:
  void fixed_flag(const char* key, bool value);
  void fixed_value(const char* key, const nlohmann::ordered_json& value);
  /// The number among `names` of the value, which is that of number `own`.
  std::size_t chosen(const char* key, std::size_t own, std::span<const std::string_view> names);

  std::string object_;
  bool reading_ = false;
  std::unique_ptr<nlohmann::ordered_json> values_;
  std::set<std::string> read_;
};

template <class T>
void OptionVisitor::choice(const char* key, T& value, std::initializer_list<std::pair<std::string_view, T>> choices) {
  std::vector<std::string_view> names;
  std::size_t own = 0;
  for (const auto& [name, choice] : choices) {
    if (choice == value) own = names.size();
    names.push_back(name);
  }
  value = std::data(choices)[chosen(key, own, names)].second;
}

/// The options of an object as they were read; of those that the file does not have, what they are.
template <class Options>
Options read_options(OptionVisitor& visitor, void (*list)(OptionVisitor&, Options&), Options options = {}) {
  list(visitor, options);
  visitor.check_all_read();
  return options;
}

}  // namespace lockstep
