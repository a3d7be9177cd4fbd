#include "gnuplot.h"

#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include <fmt/core.h>
#include <sys/wait.h>
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
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const bool is_special = std::iscntrl(code) != 0 || c == '"' || c == '\\' || c == '`';
    result += is_special ? fmt::format("\\0{:03o}", code) : std::string(1, c);
  }
  return result + "\"";
}

std::string page_script(const std::string& title, int panels) {
  return fmt::format(
      "set multiplot layout 1,{} title {} font 'DejaVu Sans Bold,13' noenhanced margins 0.065,0.98,0.13,0.87 spacing "
      "0.085\n"
      "set border 3 lc rgb '#57606a'\nset tics nomirror\nset grid lc rgb '#d0d7de' lw 1 lt 1\n",
      panels, quoted(title));
}

void draw_png(const std::string& path, const std::string& script) {
  // Named like those of AtomicFile, which remove_unfinished_files deletes.
  const std::filesystem::path temporary =
      std::filesystem::path(path).parent_path() / fmt::format(".lockstep-{}-plot.tmp", getpid());
  FILE* const gnuplot = popen("gnuplot 2>/dev/null", "w");
  require<InputError>(gnuplot != nullptr, "--plot {}: gnuplot cannot be started", path);
  const auto before = std::signal(SIGPIPE, SIG_IGN);  // gnuplot may end before it has read the script
  const std::string all = fmt::format(
      "set terminal pngcairo size 1200,540 font 'DejaVu Sans,11' background '#ffffff'\nset output {}\n{}unset "
      "multiplot\n",
      quoted(temporary.string()), script);
  const bool written = std::fwrite(all.data(), 1, all.size(), gnuplot) == all.size();
  const int status = pclose(gnuplot);
  std::signal(SIGPIPE, before);
  std::error_code error;
  const bool whole = written && status == 0 && is_whole_png(temporary.string());
  if (whole) std::filesystem::rename(temporary, path, error);
  if (whole && !error) return;
  std::filesystem::remove(temporary, error);
  fail<InputError>("--plot {}: gnuplot could not write it (exit status {}); is the disk full?", path,
                   WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

}  // namespace lockstep::cli
