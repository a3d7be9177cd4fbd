#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/gpu_platform.h>

namespace lockstep {
namespace {

class NoGpus final : public GpuPlatform {
 public:
  GpuReport report() override { return {.why_none = why}; }
  int count() override { return 0; }
  std::size_t free_memory(int) override { return 0; }
  MemoryResource& memory(const LogicalDevice& gpu) override { refuse(gpu); }
  MemoryResource& pinned_memory() override { fail<Unsupported>("pinned memory cannot be had: {}", why); }
  void copy(void*, const LogicalDevice& destination, const void*, const LogicalDevice& source, std::size_t) override {
    refuse(destination.kind == DeviceKind::gpu ? destination : source);
  }
  void copy_from_pinned(void*, const LogicalDevice& gpu, const void*, std::size_t) override { refuse(gpu); }
  void clear(const LogicalDevice& gpu, void*, std::size_t) override { refuse(gpu); }
  void synchronize(const LogicalDevice& gpu) override { refuse(gpu); }
  std::unique_ptr<GpuEvent> make_event(const LogicalDevice& gpu) override { refuse(gpu); }
  void begin_capture(const LogicalDevice& gpu) override { refuse(gpu); }
  std::unique_ptr<GpuGraph> end_capture(const LogicalDevice& gpu) override { refuse(gpu); }

 private:
  static constexpr const char* why = "this build has no CUDA (configure with LOCKSTEP_CUDA=ON and a CUDA toolkit)";
  [[noreturn]] static void refuse(const LogicalDevice& gpu) {
    fail<Unsupported>("{} cannot be used: {}", gpu.name(), why);
  }
};

}  // namespace

GpuPlatform& gpu_platform() {
  static NoGpus none;
  return none;
}

}  // namespace lockstep
