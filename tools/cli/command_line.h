#pragma once

#include <string>
#include <variant>
#include <vector>

#include "bench_command.h"
#include "convert_command.h"
#include "devices_command.h"
#include "doctor_command.h"
#include "evaluate_command.h"
#include "predict_command.h"
#include "scaling_command.h"
#include "summary_command.h"
#include "train_options.h"

namespace lockstep::cli {

/// What --help and --version give.
struct Help {
  std::string text;
};

/// What the program is to do, by its options.
using Command = std::variant<Help, DevicesOptions, DoctorOptions, TrainOptions, EvaluateOptions, PredictOptions,
                             BenchOptions, ScalingOptions, SummaryOptions, ConvertOptions>;

/// Reads the arguments that follow the program's name; `version` is what --version gives. Throws InvalidArgument for
/// arguments that are no command with its options.
Command parse_command_line(const std::vector<std::string>& arguments, const std::string& version);

}  // namespace lockstep::cli
