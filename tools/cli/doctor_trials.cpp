#include "doctor_trials.h"

#include <cstring>

#include <lockstep/kernels/op/transfer.h>
#include <lockstep/strategy/core/replica_context.h>
#include <lockstep/strategy/strategies/mirrored_strategy.h>

namespace lockstep::cli {
namespace {

using Level = Finding::Level;

constexpr std::int64_t elements = (std::int64_t{1} << 20) + 3;

/// Pseudorandom numbers: neighbors differ.
Tensor pattern() {
  std::vector<std::int32_t> values(static_cast<std::size_t>(elements));
  std::uint32_t state = 2463534242U;  // Marsaglia's xorshift
  for (std::int32_t& value : values) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    value = static_cast<std::int32_t>(state);
  }
  return Tensor::from(values, {elements});
}

/// Copies between devices; returns the problem, empty when the copy has the same bits.
std::string trouble_of_copy(const Tensor& sent, const LogicalDevice& from, const LogicalDevice& to) {
  try {
    const Tensor arrived = to_device(to_device(sent, from), to).on_host();
    const auto bytes = static_cast<std::size_t>(elements) * sizeof(std::int32_t);
    if (std::memcmp(sent.raw_data(), arrived.raw_data(), bytes) == 0) return {};
    return "the copy differs from the original";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

std::vector<Finding> try_copies(const std::vector<LogicalDevice>& gpus) {
  const Tensor sent = pattern();
  std::vector<Finding> findings;
  for (const LogicalDevice& from : gpus)
    for (const LogicalDevice& to : gpus) {
      if (from == to) continue;
      const std::string trouble = trouble_of_copy(sent, from, to);
      if (!trouble.empty())
        findings.push_back({Level::broken, "copies", fmt::format("{} to {}: {}", from.name(), to.name(), trouble),
                            "switch the IOMMU and PCIe's ACS off, or set NCCL_P2P_DISABLE=1 and train slower"});
    }
  if (findings.empty() && gpus.size() > 1)
    findings.push_back({Level::fine, "copies", fmt::format("bit-identical between all {} GPUs", gpus.size()), ""});
  return findings;
}

Finding try_all_reduce(const std::vector<LogicalDevice>& devices, std::chrono::milliseconds limit) {
  const auto replicas = static_cast<double>(devices.size());
  const double wanted = replicas * (replicas + 1) / 2;
  try {
    const MirroredStrategy strategy(devices, {.timeout = limit});
    const auto start = std::chrono::steady_clock::now();
    const auto sums = strategy.run([] {
      const ReplicaContext context = get_replica_context();
      const Tensor own = Tensor::full({elements}, context.replica_id_in_sync_group() + 1);
      return context.all_reduce(ReduceOp::sum, own);
    });
    bool right = true;
    for (const Tensor& sum : sums.local_results())
      for (const float value : sum.to_vector<float>()) right = right && static_cast<double>(value) == wanted;
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (right)
      return {Level::fine, "all-reduce", fmt::format("4 MiB over {} replicas, {:.1f} ms", devices.size(), took.count()),
              ""};
    return {Level::broken, "all-reduce", "gives wrong sums", "see the findings for copies and IOMMU"};
  } catch (const Error& error) {
    return {Level::broken, "all-reduce", error.what(), "set NCCL_DEBUG=INFO and look at its last messages"};
  }
}

}  // namespace lockstep::cli
