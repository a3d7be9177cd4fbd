#include "lockstep/models/metrics/compiled_output.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace lockstep {
namespace {

/// The prefix of the names of each output's values.
std::vector<std::string> prefixes(const Network& network) {
  if (network.outputs().size() == 1) return {""};
  std::vector<std::string> names = network.output_names();
  for (std::string& name : names) name += '_';
  return names;
}

/// Makes names unique like Keras' CompileMetrics.result. If a name is already taken, a weighted metric gets the prefix
/// "weighted_", and other metrics get a number as suffix.
class MetricNames {
 public:
  std::string make(const std::string& prefix, const std::string& name, bool weighted) {
    if (uses_[prefix + name] == 0 || !weighted) return numbered(prefix + name);
    return numbered(prefix + "weighted_" + name);
  }

 private:
  std::string numbered(const std::string& name) {
    const int use = uses_[name]++;
    return use == 0 ? name : fmt::format("{}_{}", name, use);
  }

  std::map<std::string, int> uses_;
};

void check(const OutputTraining& output) {
  require(std::isfinite(output.loss_weight), "a loss_weight must be a finite number, got {}", output.loss_weight);
}

}  // namespace

std::vector<CompiledOutput> compile_outputs(const Network& network, const std::vector<OutputTraining>& outputs) {
  require(outputs.size() == network.outputs().size(), "compile() got entries for {} output(s), the model has {}",
          outputs.size(), network.outputs().size());
  const auto losses =
      std::ranges::count_if(outputs, [](const OutputTraining& output) { return output.loss.has_value(); });
  const std::vector<std::string> prefix = prefixes(network);
  std::set<std::string> taken(training_values.begin(), training_values.end());
  taken.insert("loss");
  const auto take = [&](const std::string& name) {
    require(taken.insert(name).second, "compile() got two values named '{}'", name);
    return name;
  };
  std::vector<CompiledOutput> compiled;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    check(outputs[i]);
    CompiledOutput& output =
        compiled.emplace_back(CompiledOutput{.loss = outputs[i].loss, .loss_weight = outputs[i].loss_weight});
    if (output.loss && losses > 1) output.loss_name = take(prefix[i] + "loss");
  }
  MetricNames names;
  for (const bool weighted : {false, true})
    for (std::size_t i = 0; i < outputs.size(); ++i)
      for (const Metric& metric : weighted ? outputs[i].weighted_metrics : outputs[i].metrics)
        compiled[i].metrics.push_back(
            {metric.with_name(take(names.make(prefix[i], metric.name(), weighted))), weighted});
  for (const std::string& name : taken)
    require(!taken.contains("val_" + name),
            "compile() got a value named 'val_{0}', the name under which validation logs '{0}': rename the output or "
            "metric",
            name);
  return compiled;
}

}  // namespace lockstep
