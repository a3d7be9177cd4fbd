#include <atomic>
#include <cstring>

#include <support/pretend_gpu/platform.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep::test {
namespace {

void check(const LogicalDevice& gpu) {
  require<BrokenInvariant>(gpu.kind == DeviceKind::gpu, "{} is asked to be a GPU", gpu.name());
}

/// All work is done when it is given.
class PretendGpuMark final : public GpuMark {
 public:
  void set() override { is_set_ = true; }
  void order_before(const LogicalDevice& gpu) const override {
    check(gpu);
    require<BrokenInvariant>(is_set_, "{} waits for a mark that nobody has set", gpu.name());
  }

 private:
  std::atomic<bool> is_set_ = false;
};

}  // namespace

GpuReport PretendGpuPlatform::report() {
  constexpr std::size_t gib = std::size_t{1} << 30;
  GpuReport report;
  for (const std::vector<int>& peers : peers_)
    report.devices.push_back({.kind = DeviceKind::gpu,
                              .index = static_cast<int>(report.devices.size()),
                              .model = "pretended",
                              .memory_total = 8 * gib,
                              .memory_free = 8 * gib,
                              .cores = 1,
                              .compute_capability = "9.0",
                              .peers = peers});
  return report;
}

MemoryResource& PretendGpuPlatform::memory(const LogicalDevice& gpu) {
  check(gpu);
  return memory_;
}

void PretendGpuPlatform::copy(void* to, const LogicalDevice& destination, const void* from, const LogicalDevice& source,
                              std::size_t bytes) {
  // What is said of the two sides has to be true.
  require<BrokenInvariant>(memory_.contains(to) == (destination.kind == DeviceKind::gpu) &&
                               memory_.contains(from) == (source.kind == DeviceKind::gpu),
                           "a copy from {} to {} has addresses of others", source.name(), destination.name());
  if (destination.kind == DeviceKind::cpu) throw_fault();
  const DeviceMemory::Access access(memory_);
  std::memcpy(to, from, bytes);
}

void PretendGpuPlatform::clear(const LogicalDevice& gpu, void* memory, std::size_t bytes) {
  check(gpu);
  const DeviceMemory::Access access(memory_);
  std::memset(memory, 0, bytes);
}

void PretendGpuPlatform::synchronize(const LogicalDevice& gpu) {
  check(gpu);
  throw_fault();
}

std::unique_ptr<GpuMark> PretendGpuPlatform::make_mark(const LogicalDevice& gpu) {
  check(gpu);
  return std::make_unique<PretendGpuMark>();
}

void PretendGpuPlatform::set_fault(const std::string& what) {
  const std::lock_guard lock(mutex_);
  fault_ = what;
}

void PretendGpuPlatform::throw_fault() {
  const std::lock_guard lock(mutex_);
  const std::string fault = std::exchange(fault_, {});
  require(fault.empty(), "{}", fault);
}

}  // namespace lockstep::test
