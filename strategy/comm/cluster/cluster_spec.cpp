#include "lockstep/strategy/comm/cluster/cluster_spec.h"

#include <cstdlib>
#include <utility>

#include <nlohmann/json.hpp>

#include <lockstep/runtime/core/error.h>

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr const char* form = R"({"cluster": {"worker": ["host:port", ...]}, "task": {"type": "worker", "index": 0}})";

std::vector<std::string> addresses_of(const Json& cluster, const char* type) {
  return cluster.contains(type) ? cluster.at(type).get<std::vector<std::string>>() : std::vector<std::string>();
}

ClusterSpec spec_of(const Json& config) {
  const Json& cluster = config.at("cluster");
  for (const auto& [type, addresses] : cluster.items())
    require<Unsupported>(type == "chief" || type == "worker",
                         "TF_CONFIG names tasks of type '{}': workers that train in step are 'chief' and 'worker'",
                         type);
  ClusterSpec spec{.addresses = addresses_of(cluster, "chief")};
  spec.has_chief = !spec.addresses.empty();
  require(spec.addresses.size() <= 1, "TF_CONFIG names {} chiefs; it may name at most one", spec.addresses.size());
  for (std::string& address : addresses_of(cluster, "worker")) spec.addresses.push_back(std::move(address));

  const std::string type = config.at("task").at("type").get<std::string>();
  const Json& given = config.at("task").at("index");
  // JSON's conversions do not check: 2^32 would be task 0, and 1.7 task 1.
  const bool is_int = given.is_number_unsigned()
                          ? std::in_range<int>(given.get<std::uint64_t>())
                          : given.is_number_integer() && std::in_range<int>(given.get<std::int64_t>());
  require(is_int, "TF_CONFIG must be like {}, got {}", form, config.dump());
  const int index = given.get<int>();
  require<Unsupported>(type == "chief" || type == "worker", "TF_CONFIG says that this task is a '{}', not a worker",
                       type);
  const bool is_chief = type == "chief";
  const int workers = spec.size() - (spec.has_chief ? 1 : 0);
  const int tasks = is_chief ? spec.size() - workers : workers;
  require(index >= 0 && index < tasks,
          "TF_CONFIG says that this task is {} {}, but names only {} of them, numbered from 0", type, index, tasks);
  spec.rank = is_chief ? 0 : index + (spec.has_chief ? 1 : 0);
  return spec;
}

}  // namespace

ClusterSpec parse_tf_config(const std::string& text) {
  try {
    return spec_of(Json::parse(text));
  } catch (const Json::exception&) {
    fail("TF_CONFIG must be like {}, got {}", form, text);
  }
}

std::optional<ClusterSpec> tf_config() {
  const char* const text = std::getenv("TF_CONFIG");
  if (text == nullptr || *text == '\0') return std::nullopt;
  try {
    if (!Json::parse(text).contains("cluster")) return std::nullopt;  // a description of a single process
  } catch (const Json::exception&) {                                  // reported by the next line
  }
  return parse_tf_config(text);
}

}  // namespace lockstep
