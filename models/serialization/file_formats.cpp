#include "lockstep/models/serialization/file_formats.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <lockstep/models/graph/network.h>
#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/logging.h>
#include <lockstep/strategy/comm/cluster/cluster.h>

namespace lockstep {
namespace {

std::string extensions_of(const auto&... tables) {
  std::vector<std::string_view> extensions;
  const auto add = [&](const auto& formats) {
    for (const auto* format : formats) extensions.push_back(format->extension);
  };
  (add(tables), ...);
  const std::string_view last = extensions.back();
  extensions.pop_back();
  return fmt::format("{} or {}", fmt::join(extensions, ", "), last);
}

const WeightsFormat& weights_format_or_usual(std::string_view path) {
  const WeightsFormat* const named = weights_format_of(path);
  return named == nullptr ? *weights_formats.front() : *named;
}

}  // namespace

const WeightsFormat* weights_format_of(std::string_view path) {
  const auto found =
      std::ranges::find_if(weights_formats, [&](const auto* format) { return path.ends_with(format->extension); });
  return found == weights_formats.end() ? nullptr : *found;
}

const ModelFormat* model_format_of(std::string_view path) {
  const auto found = std::ranges::find_if(model_formats, [&](const auto* format) {
    return path.ends_with(format->extension) || path.ends_with(format->other_extension);
  });
  return found == model_formats.end() ? nullptr : *found;
}

std::string weights_extensions() { return extensions_of(weights_formats); }
std::string model_extensions() { return extensions_of(model_formats); }
std::string all_extensions() { return extensions_of(weights_formats, model_formats); }

void check_is_f32(const Variable& variable, std::string_view files) {
  require(variable.dtype() == DType::f32, "variable '{}' is {}, {} hold f32 only", variable.name(),
          name(variable.dtype()), files);
}

void check_outside_replica(std::string_view what) {
  require<LogicError>(!current_context().in_replica(), "{} works on all replicas' weights; call it outside a replica",
                      what);
}

void on_all_workers(const Strategy& strategy, const std::function<void()>& job) {
  Cluster* const workers = strategy.state()->cluster();
  if (workers == nullptr) return job();
  std::string error;
  notify_on_failure(workers, [&] {
    try {
      job();
    } catch (const InputError& problem) {
      error = problem.what();
    }
  });
  workers->fail_together<InputError>("the reading or writing of a file", error);
}

void save_weights(const Network& network, const std::string& path) {
  check_outside_replica("save_weights");
  const std::vector<std::byte> contents = weights_format_or_usual(path).contents(network);
  on_all_workers(network.strategy(), [&] {
    if (network.strategy().is_chief()) write_file_atomically(path, contents);
  });
}

void load_weights(const Network& network, const std::string& path, const LoadWeightsOptions& options) {
  check_outside_replica("load_weights");
  const WeightsFormat& format = weights_format_or_usual(path);
  require(&format == &safetensors_format || !options.stored_as, "{}: stored_as is for .safetensors files", path);
  WeightValues values;
  on_all_workers(network.strategy(), [&] { values = format.read(network, path, options); });
  for (const auto& [variable, value] : values) variable.assign(value);
}

void LoadWeightsOptions::skip(const std::string& message, bool is_missing) const {
  require<InputError>(skip_mismatch || (by_name && is_missing), "{}", message);
  log_warning("{}; skipped", message);
}

}  // namespace lockstep
