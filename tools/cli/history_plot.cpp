#include "history_plot.h"

#include <algorithm>

#include <fmt/core.h>

#include "gnuplot.h"

namespace lockstep::cli {
namespace {

constexpr const char* training_color = "#1f6feb";
constexpr const char* validation_color = "#d1495b";

/// Data block with the fractional epoch and the loss of each step.
std::string step_block(const RunRecord& record) {
  std::string block = "$steps << END\n";
  std::size_t begin = 0;
  for (std::size_t epoch = 0; epoch < record.epoch_ends().size(); ++epoch) {
    // Above 2^24, f32 may round the number up.
    const std::size_t end = std::min(static_cast<std::size_t>(record.epoch_ends()[epoch]), record.losses().size());
    for (std::size_t step = begin; step < end; ++step) {
      const double position =
          static_cast<double>(epoch) + static_cast<double>(step - begin + 1) / static_cast<double>(end - begin);
      block += fmt::format("{:.5f} {:.6g}\n", position, record.losses()[step]);
    }
    begin = end;
  }
  return block + "END\n";
}

std::string series_block(const std::string& name, const History& history) {
  std::string block = fmt::format("${} << END\n", name);
  const auto values = history.values.find(name);
  for (std::size_t epoch = 0; values != history.values.end() && epoch < values->second.size(); ++epoch)
    block += fmt::format("{} {:.6g}\n", epoch + 1, values->second[epoch]);
  return block + "END\n";
}

std::string curve(const std::string& name, const char* color, const std::string& title) {
  return fmt::format("${} with linespoints lw 2.5 pt 7 ps 1.1 lc rgb '{}' title '{}'", name, color, title);
}

/// Script of a panel with the training curve and, if recorded, the validation curve of `value`.
std::string panel(const std::string& value, const std::string& label, const std::string& key, const std::string& behind,
                  const History& history) {
  std::string script = fmt::format("set ylabel '{}'\nset key {}\nplot {}{}", label, key, behind,
                                   curve(value, training_color, "training"));
  if (history.values.contains("val_" + value)) script += ", " + curve("val_" + value, validation_color, "validation");
  return script + "\n";
}

}  // namespace

void plot_history(const std::string& path, const std::string& title, const History& history, const RunRecord& record) {
  std::string script = step_block(record);
  for (const char* name : {"loss", "val_loss", "accuracy", "val_accuracy"}) script += series_block(name, history);
  const bool has_accuracy = history.values.contains("accuracy");
  script += page_script(title, has_accuracy ? 2 : 1);
  const std::size_t epochs = history.epoch.size();
  const std::size_t end = std::max<std::size_t>(2, epochs);  // with one epoch, the key would hide its points
  script += fmt::format("set xlabel 'epoch'\nset xrange [0:{}]\nset xtics {}\n", static_cast<double>(end) + 0.1,
                        std::max<std::size_t>(1, epochs / 10));
  script += "set yrange [0:*]\n";
  script += panel("loss", "loss", "top right", "$steps with lines lw 1 lc rgb '#a9c8f5' title 'each step', ", history);
  if (has_accuracy) script += "set yrange [*:1]\n" + panel("accuracy", "accuracy", "bottom right", "", history);
  draw_png(path, script);
}

}  // namespace lockstep::cli
