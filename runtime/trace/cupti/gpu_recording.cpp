#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <lockstep/runtime/core/error.h>
#include <lockstep/runtime/device/dynamic_library.h>
#include <lockstep/runtime/trace/cupti/activity.h>
#include <lockstep/runtime/trace/gpu_recording.h>

namespace lockstep {
namespace {

constexpr std::array recorded_kinds{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                    CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};

/// CUPTI's functions. The library is loaded on first use: programs that record nothing do not need it.
struct Cupti {
  DynamicLibrary library{fmt::format("libcupti.so.{}", CUDA_VERSION / 1000).c_str(),
                         "it comes with the CUDA toolkit, in extras/CUPTI/lib64, and with PyTorch; add its folder to "
                         "LD_LIBRARY_PATH"};
#define LOCKSTEP_CUPTI(name) decltype(::name)* name = library.function<decltype(::name)>(#name)
  LOCKSTEP_CUPTI(cuptiActivityDisable);
  LOCKSTEP_CUPTI(cuptiActivityEnable);
  LOCKSTEP_CUPTI(cuptiActivityFlushAll);
  LOCKSTEP_CUPTI(cuptiActivityGetNextRecord);
  LOCKSTEP_CUPTI(cuptiActivityGetNumDroppedRecords);
  LOCKSTEP_CUPTI(cuptiActivityRegisterCallbacks);
  LOCKSTEP_CUPTI(cuptiActivityRegisterTimestampCallback);
  LOCKSTEP_CUPTI(cuptiGetResultString);
#undef LOCKSTEP_CUPTI
};

const Cupti& cupti() {
  static const Cupti loaded;
  return loaded;
}

void check(CUptiResult status, const char* call) {
  if (status == CUPTI_SUCCESS) return;
  const char* text = nullptr;
  cupti().cuptiGetResultString(status, &text);
  fail<Unsupported>("GPU activity cannot be recorded: {} failed: {}", call, text == nullptr ? "no reason given" : text);
}

/// The recording that CUPTI's threads add to.
struct Recorded {
  std::mutex mutex;
  std::unique_ptr<GpuTimeline> timeline{};  ///< null while nothing is recorded
};

Recorded& recorded() {
  static auto& instance = *new Recorded;  // CUPTI's threads may use it until the very end of the program
  return instance;
}

std::uint64_t CUPTIAPI steady_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  constexpr std::size_t size = std::size_t{1} << 22;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(4096, size));
  *bytes = *buffer == nullptr ? 0 : size;
  *most_records = 0;  // no limit but the buffer's size
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                          std::size_t used) {
  const std::unique_ptr<std::uint8_t, void (*)(void*)> freed(buffer, std::free);
  Recorded& all = recorded();
  const std::lock_guard lock(all.mutex);
  if (!all.timeline) return;
  CUpti_Activity* record = nullptr;
  while (cupti().cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS) {
    try {
      add_activity(*record, *all.timeline);
    } catch (const std::bad_alloc&) {  // leave the record out rather than fail the program
      all.timeline->leave_out(1);
    }
  }
  std::size_t dropped = 0;
  if (cupti().cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
    all.timeline->leave_out(dropped);
}

bool is_recording() {
  const std::lock_guard lock(recorded().mutex);
  return recorded().timeline != nullptr;
}

/// Ends the recording and returns its timeline; null if there is no recording.
std::unique_ptr<GpuTimeline> stop() noexcept {
  if (!is_recording()) return nullptr;
  for (const CUpti_ActivityKind kind : recorded_kinds) cupti().cuptiActivityDisable(kind);
  cupti().cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard lock(recorded().mutex);
  return std::move(recorded().timeline);
}

}  // namespace

GpuRecording::GpuRecording(std::size_t capacity) {
  cupti();
  {
    const std::lock_guard lock(recorded().mutex);
    require<LogicError>(!recorded().timeline, "GPU activity is already being recorded; finish that recording first");
    recorded().timeline = std::make_unique<GpuTimeline>(capacity);
  }
  try {
    check(cupti().cuptiActivityRegisterTimestampCallback(steady_ns), "cuptiActivityRegisterTimestampCallback");
    check(cupti().cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "cuptiActivityRegisterCallbacks");
    for (const CUpti_ActivityKind kind : recorded_kinds)
      check(cupti().cuptiActivityEnable(kind), "cuptiActivityEnable");
  } catch (...) {
    stop();
    throw;
  }
}

GpuRecording::~GpuRecording() { stop(); }

GpuTimeline GpuRecording::finish() {
  const std::unique_ptr<GpuTimeline> timeline = stop();
  require<LogicError>(timeline != nullptr, "this recording of GPU activity has already been finished");
  return std::move(*timeline);
}

}  // namespace lockstep
