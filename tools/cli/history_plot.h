#pragma once

#include <string>

#include <lockstep/models/training/history.h>

#include "run_record.h"

namespace lockstep::cli {

/// Draws loss and accuracy of training and validation by epoch, with each step's loss behind them, as PNG.
/// Throws as draw_png.
void plot_history(const std::string& path, const std::string& title, const History& history, const RunRecord& record);

}  // namespace lockstep::cli
