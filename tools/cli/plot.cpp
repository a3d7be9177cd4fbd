#include "plot.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include <fmt/core.h>
#include <unistd.h>

#include <lockstep/runtime/core/error.h>

namespace lockstep::cli {
namespace {

constexpr const char* training_color = "#1f6feb";
constexpr const char* validation_color = "#d1495b";

/// Text as a gnuplot string.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

/// Fractional epoch and loss of each step.
std::string step_block(const RunRecord& record, std::size_t earlier_epochs) {
  std::string block = "$steps << END\n";
  std::size_t begin = 0;
  for (std::size_t epoch = 0; epoch < record.epoch_ends().size(); ++epoch) {
    const std::size_t end = record.epoch_ends()[epoch];
    for (std::size_t step = begin; step < end; ++step) {
      const double position = static_cast<double>(earlier_epochs + epoch) +
                              static_cast<double>(step - begin + 1) / static_cast<double>(end - begin);
      block += fmt::format("{:.5f} {:.6g}\n", position, record.steps()[step].loss);
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

/// One panel with the training's and, if there is one, the validation's curve of `value`.
std::string panel(const std::string& value, const std::string& label, const std::string& key, const std::string& behind,
                  const History& history) {
  std::string script = fmt::format("set ylabel '{}'\nset key {}\nplot {}{}", label, key, behind,
                                   curve(value, training_color, "training"));
  if (history.values.contains("val_" + value)) script += ", " + curve("val_" + value, validation_color, "validation");
  return script + "\n";
}

std::string make_script(const std::string& path, const std::string& title, const History& history,
                        const RunRecord& record) {
  std::string script = step_block(record, history.epoch.size() - record.epoch_ends().size());
  for (const char* name : {"loss", "val_loss", "accuracy", "val_accuracy"}) script += series_block(name, history);
  script += fmt::format(
      "set terminal pngcairo size 1200,540 font 'DejaVu Sans,11' background '#ffffff'\n"
      "set output {}\n"
      "set multiplot layout 1,2 title {} font 'DejaVu Sans Bold,13' noenhanced margins 0.065,0.98,0.13,0.87 spacing "
      "0.085\n"
      "set border 3 lc rgb '#57606a'\nset tics nomirror\nset grid lc rgb '#d0d7de' lw 1 lt 1\n"
      "set xlabel 'epoch'\nset xrange [0:{}]\nset xtics {}\n",
      quoted(path), quoted(title), static_cast<double>(history.epoch.size()) + 0.1,
      std::max<std::size_t>(1, history.epoch.size() / 10));
  script += "set yrange [0:*]\n";
  script += panel("loss", "loss", "top right", "$steps with lines lw 1 lc rgb '#a9c8f5' title 'each step', ", history);
  script += "set yrange [*:1]\n";
  script += panel("accuracy", "accuracy", "bottom right", "", history);
  return script + "unset multiplot\n";
}

/// gnuplot does not notice that a disk is full.
bool is_whole_png(const std::string& path) {
  constexpr std::string_view end = "IEND\xae\x42\x60\x82";
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return bytes.ends_with(end);
}

}  // namespace

void require_gnuplot() {
  require<InputError>(std::system("command -v gnuplot > /dev/null 2>&1") == 0,
                      "--plot needs gnuplot, which is not installed (Debian: gnuplot-nox)");
}

void plot_history(const std::string& path, const std::string& title, const History& history, const RunRecord& record) {
  const std::string temporary = fmt::format("{}.{}.partial", path, getpid());
  FILE* const gnuplot = popen("gnuplot 2>/dev/null", "w");
  require<InputError>(gnuplot != nullptr, "--plot {}: gnuplot cannot be started", path);
  const std::string script = make_script(temporary, title, history, record);
  const bool written = std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
  const int status = pclose(gnuplot);
  std::error_code error;
  const bool whole = written && status == 0 && is_whole_png(temporary);
  if (whole) std::filesystem::rename(temporary, path, error);
  if (whole && !error) return;
  std::filesystem::remove(temporary, error);
  fail<InputError>("--plot {}: gnuplot could not write it (status {}), is the disk full?", path, status);
}

}  // namespace lockstep::cli
