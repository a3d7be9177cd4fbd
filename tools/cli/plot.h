#pragma once

#include <string>

#include <lockstep/models/training/history.h>

#include "run_record.h"

namespace lockstep::cli {

/// Throws InputError when gnuplot, which draws the plot, is not installed.
void require_gnuplot();

/// Draws loss and accuracy of training and validation by epoch, with each step's loss behind them, as PNG.
/// Throws InputError when gnuplot fails; then there is no file.
void plot_history(const std::string& path, const std::string& title, const History& history, const RunRecord& record);

}  // namespace lockstep::cli
