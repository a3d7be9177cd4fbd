#pragma once

#include <string>

#include <lockstep/models/training/history.h>

#include "run_record.h"

namespace lockstep::cli {

/// Draws the loss of training and validation by epoch and the loss of each step, and beside them the accuracy if the
/// history has it, as PNG. Throws like draw_png.
void plot_history(const std::string& path, const std::string& title, const History& history, const RunRecord& record);

}  // namespace lockstep::cli
