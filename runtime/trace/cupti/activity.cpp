#include "lockstep/runtime/trace/cupti/activity.h"

namespace lockstep {
namespace {

const char* name_of_copy(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return "copy from the host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return "copy to the host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "copy between GPUs";
    default:
      return "copy on the device";
  }
}

/// Copies the fields that records of all kinds have.
template <class Record>
GpuWork work_of(const Record& record, std::string_view name) {
  return {
      .name = name, .gpu = record.deviceId, .stream = record.streamId, .start_ns = record.start, .end_ns = record.end};
}

template <class Record>
GpuWork moving_work(const Record& record, std::string_view name) {
  GpuWork work = work_of(record, name);
  work.bytes = record.bytes;
  return work;
}

template <class Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

}  // namespace

void add_activity(const CUpti_Activity& record, GpuTimeline& timeline) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = as<CUpti_ActivityKernel10>(record);
      GpuWork work = work_of(kernel, kernel.name == nullptr ? "kernel without a name" : kernel.name);
      work.is_kernel = true;
      return timeline.add(work);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = as<CUpti_ActivityMemcpy6>(record);
      return timeline.add(moving_work(copy, name_of_copy(copy.copyKind)));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto& copy = as<CUpti_ActivityMemcpyPtoP4>(record);
      return timeline.add(moving_work(copy, name_of_copy(copy.copyKind)));
    }
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return timeline.add(moving_work(as<CUpti_ActivityMemset4>(record), "memset"));
    default:
      return;
  }
}

}  // namespace lockstep
