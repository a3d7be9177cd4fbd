#include "gnuplot.h"

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

#include "output_file.h"

namespace lockstep::cli {
namespace {

/// Checks the end of the file: gnuplot does not report a full disk.
bool is_whole_png(const std::string& path) {
  constexpr std::string_view end = "IEND\xae\x42\x60\x82";
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return bytes.ends_with(end);
}

}  // namespace

void require_plot(const std::string& path) {
  require(path.ends_with(".png"), "--plot {}: plots are written as PNG; the name must end in .png", path);
  require_replaceable(path, "--plot");
  require<InputError>(std::system("command -v gnuplot > /dev/null 2>&1") == 0,
                      "--plot needs gnuplot, which is not installed (Debian: gnuplot-nox)");
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

std::string page_script(const std::string& title, int panels) {
  return fmt::format(
      "set multiplot layout 1,{} title {} font 'DejaVu Sans Bold,13' noenhanced margins 0.065,0.98,0.13,0.87 spacing "
      "0.085\n"
      "set border 3 lc rgb '#57606a'\nset tics nomirror\nset grid lc rgb '#d0d7de' lw 1 lt 1\n",
      panels, quoted(title));
}

void draw_png(const std::string& path, const std::string& script) {
  const std::string temporary = fmt::format("{}.{}.partial", path, getpid());
  FILE* const gnuplot = popen("gnuplot 2>/dev/null", "w");
  require<InputError>(gnuplot != nullptr, "--plot {}: gnuplot cannot be started", path);
  const std::string all = fmt::format(
      "set terminal pngcairo size 1200,540 font 'DejaVu Sans,11' background '#ffffff'\nset output {}\n{}unset "
      "multiplot\n",
      quoted(temporary), script);
  const bool written = std::fwrite(all.data(), 1, all.size(), gnuplot) == all.size();
  const int status = pclose(gnuplot);
  std::error_code error;
  const bool whole = written && status == 0 && is_whole_png(temporary);
  if (whole) std::filesystem::rename(temporary, path, error);
  if (whole && !error) return;
  std::filesystem::remove(temporary, error);
  fail<InputError>("--plot {}: gnuplot could not write it (status {}); is the disk full?", path, status);
}

}  // namespace lockstep::cli
