#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace lockstep {

/// An optimizer, schedule, loss or metric as Keras' files have it: a class, and what its constructor takes.
struct ObjectConfig {
  /// What an option can be.
  using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;
  std::string class_name;                  ///< Keras'
  std::map<std::string, Value> options{};  ///< by Keras' names; those that are null are left out

  /// Adds an option; nothing for an empty std::optional.
  template <class T>
  void set(const char* key, const T& value) {
    if constexpr (std::is_same_v<T, std::optional<double>>) {
      if (value) options.insert_or_assign(key, *value);
    } else {
      options.insert_or_assign(key, value);
    }
  }
};

/// The options of an object from a file, for what makes the object again. All functions throw InputError naming object,
/// option and what would be right.
class ObjectOptions {
 public:
  /// `kind` is for messages: "optimizer". The object outlives this.
  ObjectOptions(const char* kind, const ObjectConfig& object) : kind_(kind), object_(object), left_(object.options) {}

  ///@{
  /// Sets the value to what the object has, or leaves it where that says nothing.
  void take(const char* key, bool& value);
  void take(const char* key, int& value);
  void take(const char* key, std::int64_t& value);
  void take(const char* key, double& value);
  void take(const char* key, std::string& value);
  void take(const char* key, std::optional<double>& value);
  void take(const char* key, std::vector<std::int64_t>& value);
  void take(const char* key, std::vector<double>& value);
  ///@}
  /// An option that this project has in one value.
  void take_fixed(const char* key, const ObjectConfig::Value& value);
  /// What says how something is computed, and not what.
  void pass_over(const char* key) { left_.erase(key); }
  /// Throws for an option that has not been taken, unless it is off (false or 0).
  void check_all_taken() const;

 private:
  /// The value, which counts as taken.
  std::optional<ObjectConfig::Value> extract(const char* key);
  [[noreturn]] void refuse(const std::string& key, const ObjectConfig::Value& value, const std::string& right) const;

  const char* kind_;
  const ObjectConfig& object_;
  std::map<std::string, ObjectConfig::Value> left_;
};

}  // namespace lockstep
