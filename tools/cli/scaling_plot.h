#pragma once

#include <string>

#include "gnuplot.h"
#include "scaling.h"

namespace lockstep::cli {

/// Draws the speed-up of every method over the number of replicas, weak and strong, with the ideal line, as PNG. Throws
/// like draw_png.
void plot_scaling(const std::string& path, const std::string& title, const Scaling& scaling);

}  // namespace lockstep::cli
