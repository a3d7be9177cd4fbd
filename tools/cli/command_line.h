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

/// The text that --help or --version prints.
struct Help {
  std::string text;
};

/// The options of the command to run.
using Command = std::variant<Help, DevicesOptions, DoctorOptions, TrainOptions, EvaluateOptions, PredictOptions,
                             BenchOptions, ScalingOptions, SummaryOptions, ConvertOptions>;

/// Parses the arguments after the program's name; --version prints `version`. Throws InvalidArgument when the arguments
/// are not a command with valid options.
Command parse_command_line(const std::vector<std::string>& arguments, const std::string& version);

}  // namespace lockstep::cli
