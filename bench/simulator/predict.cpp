#include <algorithm>
#include <cmath>

#include <lockstep/bench/simulator/simulator.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/strategy/reduce/bucket_plan.h>

namespace lockstep::simulation {
namespace {

constexpr std::int64_t smallest_bucket = std::int64_t{256} << 10;

std::int64_t gradient_bytes(const MeasuredStep& step) {
  std::int64_t bytes = 0;
  for (const BackwardLayer& layer : step.backward) bytes += layer.gradient_bytes;
  return bytes;
}

double backward_s(const MeasuredStep& step) {
  double seconds = 0;
  for (const BackwardLayer& layer : step.backward) seconds += layer.seconds;
  return seconds;
}

/// The layers' gradient sizes in f32 elements, the unit of plan_buckets; rounded up for gradients of other types.
std::vector<std::int64_t> sizes_of(const MeasuredStep& step) {
  constexpr auto element = static_cast<std::int64_t>(sizeof(float));
  std::vector<std::int64_t> sizes;
  for (const BackwardLayer& layer : step.backward) sizes.push_back((layer.gradient_bytes + element - 1) / element);
  return sizes;
}

/// The end of work that starts at `now` and takes `seconds` at full speed. Until `busy`, the speed is 1 - `slowdown`.
double end_of(double now, double seconds, double busy, double slowdown) {
  const double slow = std::max(0.0, busy - now);
  const double done = slow * (1 - slowdown);
  return done < seconds ? now + slow + (seconds - done) : now + seconds / (1 - slowdown);
}

struct Overlap {
  double end_s = 0;  ///< end of backward and communication, from the start of backward
  Cost communication;
};

Overlap overlap(const MeasuredStep& step, const Machine& machine, int devices, AllReduce algorithm,
                std::span<const Bucket> buckets) {
  Cost sum;
  double now = 0;
  double busy = 0;  // end of the communication of all buckets that are ready so far
  auto next = buckets.begin();
  for (std::size_t layer = 0; layer < step.backward.size(); ++layer) {
    now = end_of(now, step.backward[layer].seconds, busy, machine.slowdown);
    if (next == buckets.end() || next->last_layer != layer) continue;
    const Cost cost = all_reduce_cost(algorithm, machine, devices, static_cast<double>(next->bytes));
    busy = std::max(busy, now) + cost.total_s();
    sum.latency_s += cost.latency_s;
    sum.bandwidth_s += cost.bandwidth_s;
    ++next;
  }
  return {std::max(now, busy), sum};
}

}  // namespace

void validate(const MeasuredStep& step) {
  const auto check = [](double seconds, std::string_view what) {
    require(std::isfinite(seconds) && seconds >= 0, "{}: must not be negative, got {} s", what, seconds);
  };
  check(step.forward_s, "forward");
  check(step.update_s, "update");
  check(step.overhead_s, "overhead");
  for (const BackwardLayer& layer : step.backward) {
    check(layer.seconds, layer.name);
    require(layer.gradient_bytes >= 0, "{}: gradient bytes must not be negative, got {}", layer.name,
            layer.gradient_bytes);
  }
  require(step_on_one_device_s(step) > 0, "the step takes no time: give forward, backward, update or overhead");
}

double step_on_one_device_s(const MeasuredStep& step) {
  return step.forward_s + backward_s(step) + step.update_s + step.overhead_s;
}

std::vector<Bucket> buckets_of(const MeasuredStep& step, std::int64_t bucket_bytes) {
  require(bucket_bytes >= 1, "bucket: at least 1 byte, got {}", bucket_bytes);
  const std::vector<std::int64_t> sizes = sizes_of(step);
  const BucketOptions options{std::min(BucketOptions{}.first_bytes, bucket_bytes), bucket_bytes};
  std::vector<Bucket> buckets;
  std::size_t layer = 0;
  std::int64_t end = 0;
  for (const FlatRange& range : plan_buckets(sizes, options)) {
    Bucket& bucket = buckets.emplace_back();
    for (; end < range.end; ++layer) {
      end += sizes[layer];
      bucket.bytes += step.backward[layer].gradient_bytes;
      bucket.last_layer = layer;
    }
  }
  return buckets;
}

Prediction predict(const MeasuredStep& step, const Machine& machine, int devices, AllReduce algorithm,
                   std::int64_t bucket_bytes) {
  validate(step);
  const std::vector<Bucket> buckets = buckets_of(step, bucket_bytes);
  const Overlap both = overlap(step, machine, devices, algorithm, buckets);
  const double alone = step_on_one_device_s(step);
  const double backward = backward_s(step);
  const double communication = both.communication.total_s();

  Prediction result;
  result.devices = devices;
  result.algorithm = algorithm;
  result.bucket_bytes = bucket_bytes;
  result.buckets = buckets.size();
  result.communication = both.communication;
  result.exposed_s = both.end_s - backward;
  result.step_s = alone + result.exposed_s;
  result.hidden_share = communication > 0 ? 1 - result.exposed_s / communication : 1;
  result.efficiency = alone / result.step_s;
  return result;
}

std::vector<std::int64_t> bucket_sizes(const MeasuredStep& step) {
  std::vector<std::int64_t> sizes{smallest_bucket};
  while (sizes.back() < gradient_bytes(step)) sizes.push_back(2 * sizes.back());
  return sizes;
}

Prediction predict_best(const MeasuredStep& step, const Machine& machine, int devices, const Fixed& fixed) {
  validate(step);
  const auto algorithms = fixed.algorithm ? std::vector{*fixed.algorithm}
                                          : std::vector{AllReduce::ring, AllReduce::tree, AllReduce::hierarchical};
  const auto sizes = fixed.bucket_bytes ? std::vector{*fixed.bucket_bytes} : bucket_sizes(step);
  std::optional<Prediction> best;
  for (const AllReduce algorithm : algorithms)
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
      const Prediction tried = predict(step, machine, devices, algorithm, *size);
      if (!best || tried.step_s < best->step_s) best = tried;
    }
  return *best;
}

std::string_view name(Bound bound) { return bound == Bound::latency ? "latency" : "bandwidth"; }

std::optional<Break> where_scaling_breaks(std::span<const Prediction> predictions, double threshold) {
  const auto first = std::find_if(predictions.begin(), predictions.end(),
                                  [&](const Prediction& prediction) { return prediction.efficiency < threshold; });
  if (first == predictions.end()) return std::nullopt;
  const Cost& cost = first->communication;
  return Break{*first, cost.latency_s > cost.bandwidth_s ? Bound::latency : Bound::bandwidth};
}

}  // namespace lockstep::simulation
