#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include <lockstep/bench/simulator/simulator.h>
#include <lockstep/runtime/core/error.h>

namespace lockstep::simulation {
namespace {

using Json = nlohmann::json;

constexpr int most_devices = 1 << 20;  // in a node

/// The fields of a JSON object. Records which fields were read, so that unknown ones can be refused.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    require<InputError>(object.is_object(), "{}: must be an object", where_);
  }
  bool has(const std::string& key) const { return object_.contains(key); }
  const Json& at(const std::string& key) {
    require<InputError>(has(key), "{}: no field '{}'", where_, key);
    asked_.insert(key);
    return object_.at(key);
  }
  double number(const std::string& key) {
    const Json& value = at(key);
    require<InputError>(value.is_number(), "{}: '{}' must be a number", where_, key);
    return value.get<double>();
  }
  double number_or_zero(const std::string& key) { return has(key) ? number(key) : 0; }
  std::int64_t whole_number(const std::string& key) {
    const Json& value = at(key);
    require<InputError>(value.is_number_integer(), "{}: '{}' must be a whole number", where_, key);
    return value.get<std::int64_t>();
  }
  std::string text(const std::string& key) {
    const Json& value = at(key);
    require<InputError>(value.is_string(), "{}: '{}' must be a text", where_, key);
    return value.get<std::string>();
  }
  void refuse_others() const {
    for (const auto& [key, value] : object_.items())
      require<InputError>(asked_.contains(key), "{}: unknown field '{}'", where_, key);
  }

 private:
  const Json& object_;
  std::string where_;
  std::set<std::string> asked_{};
};

Json parse(const std::filesystem::path& file) {
  std::ifstream in(file);
  require<InputError>(in.is_open(), "{}: cannot be read", file.string());
  try {
    return Json::parse(in);
  } catch (const Json::parse_error& error) {
    fail<InputError>("{}: not JSON at byte {}", file.string(), error.byte);
  } catch (const Json::out_of_range&) {
    fail<InputError>("{}: a number is too large", file.string());
  }
}

/// Validates the result of `read`; an invalid value is an InputError about the file.
template <class Read>
Read validated(Read read, const std::filesystem::path& file) {
  try {
    validate(read);
  } catch (const InvalidArgument& error) {
    fail<InputError>("{}: {}", file.string(), error.what());
  }
  return read;
}

Link link_of(const Json& object, const std::string& where) {
  Fields fields(object, where);
  const Link link{fields.number("latency_us") * 1e-6, fields.number("gigabytes_per_s") * 1e9};
  fields.refuse_others();
  return link;
}

BackwardLayer layer_of(const Json& object, const std::string& where) {
  Fields fields(object, where);
  BackwardLayer layer{fields.text("name"), fields.number("ms") * 1e-3, fields.whole_number("gradient_bytes")};
  fields.refuse_others();
  return layer;
}

}  // namespace

Machine read_machine(const std::filesystem::path& file) {
  const Json json = parse(file);
  Fields fields(json, file.string());
  Machine machine;
  machine.name = fields.text("name");
  machine.source = fields.text("source");
  const std::int64_t devices = fields.whole_number("devices_per_node");
  require<InputError>(devices >= 1 && devices <= most_devices, "{}: 'devices_per_node' must be 1 to {}, got {}",
                      file.string(), most_devices, devices);
  machine.devices_per_node = static_cast<int>(devices);
  if (machine.devices_per_node > 1) machine.inside = link_of(fields.at("inside"), file.string() + ": inside");
  machine.network = link_of(fields.at("network"), file.string() + ": network");
  machine.start_s = fields.number_or_zero("start_us") * 1e-6;
  machine.message_s = fields.number_or_zero("message_us") * 1e-6;
  machine.slowdown = fields.number_or_zero("slowdown");
  fields.refuse_others();
  return validated(machine, file);
}

MeasuredStep read_step(const std::filesystem::path& file) {
  const Json json = parse(file);
  Fields fields(json, file.string());
  MeasuredStep step;
  step.name = fields.text("name");
  step.source = fields.text("source");
  step.forward_s = fields.number("forward_ms") * 1e-3;
  const Json& backward = fields.at("backward");
  require<InputError>(backward.is_array() && !backward.empty(), "{}: 'backward' must list the layers", file.string());
  for (std::size_t i = 0; i < backward.size(); ++i)
    step.backward.push_back(layer_of(backward[i], fmt::format("{}: backward[{}]", file.string(), i)));
  step.update_s = fields.number_or_zero("update_ms") * 1e-3;
  step.overhead_s = fields.number_or_zero("overhead_ms") * 1e-3;
  fields.refuse_others();
  return validated(step, file);
}

}  // namespace lockstep::simulation
