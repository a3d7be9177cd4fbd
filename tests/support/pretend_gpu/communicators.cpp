#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <support/pretend_gpu/communicators.h>

#include <lockstep/kernels/reduction/reduce_functions.h>
#include <lockstep/runtime/core/error.h>
#include <lockstep/strategy/comm/places.h>

namespace lockstep::test {
namespace {

std::mutex enqueued_mutex;
std::vector<std::size_t> enqueued_ranges;
std::vector<GpuPart::Kind> combined_kinds;

/// In replica order; the result may be one of the parts. As NCCL does, a mean divides before it adds, and bf16 is
/// rounded after each addition.
template <class T>
void combine_as(std::span<const GpuPart> parts) {
  using A = Accumulator<T>;
  const GpuPart& first = parts.front();
  const A factor = first.kind == GpuPart::Kind::mean ? A(1) / static_cast<A>(parts.size()) : A(1);
  std::vector<T> result;
  for (const GpuPart& part : parts) {
    const T* const from = static_cast<const T*>(part.from);
    const bool is_new = part.kind == GpuPart::Kind::gather || result.empty();
    for (std::size_t i = 0; i < part.elements; ++i) {
      const A own = static_cast<A>(from[i]) * factor;
      if (is_new)
        result.push_back(static_cast<T>(own));
      else if (part.kind == GpuPart::Kind::product)
        result[i] = static_cast<T>(static_cast<A>(result[i]) * own);
      else
        result[i] = static_cast<T>(static_cast<A>(result[i]) + own);
    }
  }
  for (const GpuPart& part : parts) std::memcpy(part.to, result.data(), result.size() * sizeof(T));
}

/// For programs whose replicas have a pretended GPU each.
class Communicators : public testing::Environment {
  void SetUp() override {
    const char* const devices = std::getenv("LOCKSTEP_TEST_DEVICES");
    if (devices != nullptr && std::string_view(devices) == "pretend_gpus")
      new GpuCommunicatorsScope(make_pretend_communicators);  // until the program's end, as the GPUs
  }
};

[[maybe_unused]] const testing::Environment* const environment = testing::AddGlobalTestEnvironment(new Communicators);

}  // namespace

PretendGpuCommunicators::PretendGpuCommunicators(PretendGpuPlatform& platform, std::vector<LogicalDevice> gpus)
    : platform_(platform), gpus_(std::move(gpus)) {}

PretendGpuCommunicators::~PretendGpuCommunicators() {
  for (const LogicalDevice& gpu : gpus_) {
    PretendGpuStream& communication = platform_.stream({gpu, StreamKind::communication});
    communication.finish(communication.given());
  }
}

void PretendGpuCommunicators::combine(std::span<const GpuPart> parts) {
  const GpuPart& first = parts.front();
  for (const GpuPart& part : parts) {
    require<BrokenInvariant>(part.kind == first.kind && part.dtype == first.dtype && part.elements == first.elements,
                             "GPUs reach a collective with {} elements of {} and {} of {}", first.elements,
                             name(first.dtype), part.elements, name(part.dtype));
    require<BrokenInvariant>(part.kind != GpuPart::Kind::mean || part.dtype == DType::f32, "GPUs have no mean of {}",
                             name(part.dtype));
    require<BrokenInvariant>(
        part.elements == 0 || (platform_.memory().contains(part.from) && platform_.memory().contains(part.to)),
        "a collective of GPUs is given the host's memory");
  }
  {
    const std::lock_guard lock(enqueued_mutex);
    combined_kinds.push_back(first.kind);
  }
  const DeviceMemory::Access access(platform_.memory());
  switch (first.dtype) {
    case DType::f32:
      return combine_as<float>(parts);
    case DType::bf16:
      return combine_as<bfloat16>(parts);
    case DType::i32:
      return combine_as<std::int32_t>(parts);
    case DType::i64:
      return combine_as<std::int64_t>(parts);
    default:
      fail<BrokenInvariant>("GPUs combine {} values", name(first.dtype));
  }
}

void PretendGpuCommunicators::enqueue(const char* what, std::span<const std::vector<GpuPart>> parts) {
  require<BrokenInvariant>(parts.size() == gpus_.size(), "{} parts for {} GPUs", parts.size(), gpus_.size());
  if (what == std::string_view(gradients_place)) {
    const std::lock_guard lock(enqueued_mutex);
    enqueued_ranges.push_back(parts.front().front().elements);
  }
  struct Work {
    std::vector<std::vector<GpuPart>> parts;
    std::once_flag once{};
  };
  const auto work = std::make_shared<Work>();
  work->parts.assign(parts.begin(), parts.end());
  for (const LogicalDevice& gpu : gpus_)
    platform_.stream({gpu, StreamKind::communication}).enqueue([this, work] {
      std::call_once(work->once, [&] {
        for (std::size_t place = 0; place < work->parts.front().size(); ++place) {
          std::vector<GpuPart> at_place;
          for (const std::vector<GpuPart>& own : work->parts) at_place.push_back(own.at(place));
          combine(at_place);
        }
      });
    });
}

std::vector<std::size_t> PretendGpuCommunicators::take_ranges() {
  const std::lock_guard lock(enqueued_mutex);
  return std::exchange(enqueued_ranges, {});
}

std::vector<GpuPart::Kind> PretendGpuCommunicators::take_combined() {
  const std::lock_guard lock(enqueued_mutex);
  return std::exchange(combined_kinds, {});
}

std::unique_ptr<GpuCommunicators> make_pretend_communicators(const std::vector<LogicalDevice>& gpus,
                                                             std::chrono::milliseconds /*timeout*/,
                                                             Cluster* /*cluster*/) {
  return std::make_unique<PretendGpuCommunicators>(dynamic_cast<PretendGpuPlatform&>(gpu_platform()), gpus);
}

}  // namespace lockstep::test
