#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

/// Checks `path`, the value of --plot, before work starts. Throws InvalidArgument if it does not end in .png. Throws
/// InputError if the file cannot be written or gnuplot is not installed.
void require_plot(const std::string& path);

/// Quotes `text` as a gnuplot string.
std::string quoted(const std::string& text);

/// The beginning of a script for draw_png: sets up a page with `title` above `panels` plots side by side, in the
/// project's style.
std::string page_script(const std::string& title, int panels);

/// Runs `script` with gnuplot and writes a PNG. Throws InputError when gnuplot fails; a file that was at `path` before
/// is then kept.
void draw_png(const std::string& path, const std::string& script);

}  // namespace lockstep::cli
