#include "doctor_facts.h"

namespace lockstep::cli {

GpuSoftware gpu_software() { return {}; }

}  // namespace lockstep::cli
