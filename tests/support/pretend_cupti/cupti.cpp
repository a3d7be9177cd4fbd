// A library that replaces CUPTI on machines without a GPU, with the functions that GpuRecording calls. A flush delivers
// the same few records each time; their times start when kernel records were enabled, on the registered clock.

#include <cstdint>
#include <cstring>
#include <set>
#include <variant>
#include <vector>

#include <cupti.h>

namespace {

using Record = std::variant<CUpti_ActivityKernel10, CUpti_ActivityMemcpy6>;

CUpti_TimestampCallbackFunc clock_ns = nullptr;
CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
std::set<CUpti_ActivityKind> enabled;
std::vector<Record> waiting;

CUpti_ActivityKernel10 kernel(const char* name, std::uint32_t stream, std::uint64_t start, std::uint64_t end) {
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = name;
  record.streamId = stream;
  record.start = start;
  record.end = end;
  return record;
}

/// Makes the records of two overlapping kernels, a copy, and a later kernel.
void compute() {
  const std::uint64_t now = clock_ns();
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.bytes = 4096;
  copy.streamId = 9;
  copy.start = now + 2000;
  copy.end = now + 3000;
  waiting = {kernel("_Z4spinPfi", 7, now, now + 1000), kernel("triton_poi_fused_0", 8, now + 500, now + 2000), copy,
             kernel("_Z4spinPfi", 7, now + 5000, now + 6000)};
}

CUpti_ActivityKind kind_of(const Record& record) {
  return std::visit([](const auto& each) { return each.kind; }, record);
}

std::size_t size_of(CUpti_ActivityKind kind) {
  return kind == CUPTI_ACTIVITY_KIND_MEMCPY ? sizeof(CUpti_ActivityMemcpy6) : sizeof(CUpti_ActivityKernel10);
}

}  // namespace

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function) {
  clock_ns = function;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed) {
  request = requested;
  complete = completed;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  enabled.insert(kind);
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) compute();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  return enabled.erase(kind) > 0 ? CUPTI_SUCCESS : CUPTI_ERROR_UNKNOWN;
}

CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  std::uint8_t* buffer = nullptr;
  std::size_t bytes = 0;
  std::size_t most = 0;
  request(&buffer, &bytes, &most);
  std::size_t used = 0;
  for (const Record& record : waiting) {
    const std::size_t size = size_of(kind_of(record));
    if (used + size > bytes) return CUPTI_ERROR_OUT_OF_MEMORY;
    std::visit([&](const auto& each) { std::memcpy(buffer + used, &each, size); }, record);
    used += size;
  }
  waiting.clear();
  complete(nullptr, 0, buffer, bytes, used);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t used, CUpti_Activity** record) {
  std::uint8_t* const next =
      *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + size_of((*record)->kind);
  if (next >= buffer + used) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "a pretended failure";
  return CUPTI_SUCCESS;
}
