#include "scaling_plot.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace lockstep::cli {
namespace {

const char* color_of(ScalingMethod method) {
  switch (method) {
    case ScalingMethod::mirrored:
      return "#1f6feb";
    case ScalingMethod::reduction_to_one_device:
      return "#d1495b";
    case ScalingMethod::multi_gpu_model:
      return "#8a6d3b";
  }
  return "#000000";
}

/// Name of a gnuplot data block, e.g. "$weak0".
std::string block_name(const std::string& panel, ScalingMethod method) {
  return fmt::format("${}{}", panel, static_cast<int>(method));
}

/// The rows of one method, preceded by the row of one replica, where every curve starts.
std::vector<ScalingRow> curve_of(const std::vector<ScalingRow>& rows, ScalingMethod method) {
  std::vector<ScalingRow> curve;
  for (const ScalingRow& row : rows)
    if (row.replicas == 1 || row.method == method) curve.push_back(row);
  return curve;
}

std::string panel(const std::string& name, const std::string& label, const std::vector<ScalingRow>& rows) {
  const int most = std::max_element(rows.begin(), rows.end(), [](const ScalingRow& a, const ScalingRow& b) {
                     return a.replicas < b.replicas;
                   })->replicas;
  std::string blocks = fmt::format("$ideal_{} << END\n", name);
  for (const ScalingRow& row : curve_of(rows, rows.back().method))
    blocks += fmt::format("{} {}\n", row.replicas, row.ideal);
  blocks += "END\n";
  std::vector<std::string> curves{fmt::format("$ideal_{} with lines lw 1.5 dt 2 lc rgb '#57606a' title 'ideal'", name)};
  for (const ScalingMethod method : all_scaling_methods) {
    const std::vector<ScalingRow> curve = curve_of(rows, method);
    if (curve.size() < 2) continue;
    blocks += block_name(name, method) + " << END\n";
    for (const ScalingRow& row : curve)
      blocks += fmt::format("{} {:.5g} {:.5g} {:.5g}\n", row.replicas, row.speedup.median, row.speedup.lowest,
                            row.speedup.highest);
    blocks += "END\n";
    curves.push_back(
        fmt::format("{0} with linespoints lw 2.5 pt 7 ps 1.1 lc rgb '{1}' title '{2}', {0} with "
                    "yerrorbars pt 0 lw 1.5 lc rgb '{1}' notitle",
                    block_name(name, method), color_of(method), cli::name(method)));
  }
  return blocks + fmt::format(
                      "set xlabel 'replicas, {}'\nset ylabel 'speed-up'\nset xrange [0.8:{}]\nset xtics 1\n"
                      "set yrange [0:*]\nset key top left\nplot {}\n",
                      label, most + 0.2, fmt::join(curves, ", "));
}

}  // namespace

void plot_scaling(const std::string& path, const std::string& title, const Scaling& scaling) {
  draw_png(
      path,
      page_script(title, 2) +
          panel("weak", fmt::format("{} examples per replica", scaling.weak.front().global_batch), scaling.weak) +
          panel("strong", fmt::format("{} examples in total", scaling.strong.front().global_batch), scaling.strong));
}

}  // namespace lockstep::cli
