#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

/// Throws for a --plot that could not be drawn: InvalidArgument when its name does not end in .png, InputError when the
/// file cannot be written or gnuplot is not installed. Called before work starts.
void require_plot(const std::string& path);

/// Text as a gnuplot string.
std::string quoted(const std::string& text);

/// A page of panels side by side, in the project's style; `title` stands above them.
std::string page_script(const std::string& title, int panels);

/// Draws what `script` plots as PNG. Throws InputError when gnuplot fails; then there is no file.
void draw_png(const std::string& path, const std::string& script);

}  // namespace lockstep::cli
