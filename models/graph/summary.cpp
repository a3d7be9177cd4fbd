#include "lockstep/models/graph/summary.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace lockstep {
namespace {

constexpr int columns = 4;
using Row = std::array<std::string, columns>;
constexpr std::array<bool, columns> to_the_right{false, false, true, false};
using Widths = std::array<std::size_t, columns>;

constexpr std::size_t most_width = 80;          ///< of the table, unless shapes and numbers take most of it
constexpr std::size_t drawn = 3 * columns + 1;  ///< characters of borders and the spaces beside them
constexpr std::size_t least_of_two = 2 * 12;    ///< for the columns of layers and connections together

/// The characters that draw a border of the table.
struct Strokes {
  const char* left;
  const char* line;
  const char* crossing;
  const char* right;
};
constexpr Strokes top{"┏", "━", "┳", "┓"};
constexpr Strokes below_head{"┡", "━", "╇", "┩"};
constexpr Strokes between{"├", "─", "┼", "┤"};
constexpr Strokes bottom{"└", "─", "┴", "┘"};

/// 1656250 -> "1,656,250".
std::string with_separators(std::int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

/// "6.32 MB", of f32 parameters.
std::string memory_of(std::int64_t parameters) {
  constexpr std::array<const char*, 5> units{"B", "KB", "MB", "GB", "TB"};
  double size = static_cast<double>(parameters) * sizeof(float);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < units.size(); ++unit) size /= 1024;
  return fmt::format("{:.2f} {}", size, units[unit]);
}

/// "(None, 32, 32, 3)", with None for the batch and for unknown sizes.
std::string batch_of(const Shape& shape) {
  std::string text = "(None";
  for (const std::int64_t size : shape) text += size == -1 ? ", None" : fmt::format(", {}", size);
  return text + ")";
}

/// "conv2d (Conv2D)", and the dtype policy where it is not the usual one.
std::string title_of(const Layer& layer) {
  const DTypePolicy policy = layer.impl().dtype_policy();
  return policy == DTypePolicy::float32
             ? fmt::format("{} ({})", layer.name(), layer.impl().class_name())
             : fmt::format("{} ({}, {})", layer.name(), layer.impl().class_name(), name(policy));
}

/// A row for each layer. A layer that is called several times has the connections of all its calls.
std::vector<Row> layer_rows(const SummaryHead& head, const std::vector<GraphCall>& calls,
                            const std::vector<Layer>& layers) {
  std::vector<Row> rows(layers.size());
  std::vector<int> times_called(layers.size(), 0);
  std::vector<std::string> result_name;  // by call, in Keras' form layer[call of the layer][output]
  for (const GraphCall& call : calls) {
    const Layer& layer = layers[call.layer];
    if (call.result > 0) {
      const std::string& first = result_name[call.inputs[0]];
      result_name.push_back(fmt::format("{}[{}]", first.substr(0, first.rfind('[')), call.result));
      continue;
    }
    Row& row = rows[call.layer];
    const int time = times_called[call.layer]++;
    if (time == 0) row = {title_of(layer), batch_of(call.shape), with_separators(layer.impl().count_params()), ""};
    for (const int from : call.inputs) {
      const std::string source = from < 0 ? fmt::format("{}[0][0]", head.inputs[-1 - from].name) : result_name[from];
      row[3] += row[3].empty() ? source : ", " + source;
    }
    result_name.push_back(fmt::format("{}[{}][0]", layer.name(), time));
  }
  std::vector<Row> input_rows;
  for (const NetworkInput& input : head.inputs)
    input_rows.push_back({fmt::format("{} (InputLayer)", input.name), batch_of(input.shape), "0", "-"});
  rows.insert(rows.begin(), input_rows.begin(), input_rows.end());
  return rows;
}

/// The widths of the widest cells. The columns of layers and connections, whose cells can be broken, share the width
/// that the others leave.
Widths column_widths(const Row& titles, const std::vector<Row>& rows) {
  Widths widths{};
  for (int column = 0; column < columns; ++column) {
    widths[column] = titles[column].size();
    for (const Row& row : rows) widths[column] = std::max(widths[column], row[column].size());
  }
  const std::size_t taken = drawn + widths[1] + widths[2];
  const std::size_t left = std::max(least_of_two, most_width - std::min(most_width, taken));
  const std::size_t half = left / 2;
  if (widths[0] + widths[3] <= left) return widths;
  const std::size_t connections = widths[0] < half ? left - widths[0] : std::min(widths[3], half);
  widths[0] = left - connections;
  widths[3] = connections;
  return widths;
}

/// Breaks text between words. A word that is too long is broken, too, if possible before the call in
/// "layer[call][output]".
std::vector<std::string> lines_of(std::string text, std::size_t width) {
  std::vector<std::string> lines;
  while (text.size() > width) {
    const std::size_t space = text.rfind(' ', width);
    const bool between_words = space != std::string::npos && space > 0;
    const std::size_t call = text.find('[');
    const std::size_t end = between_words ? space : call > 0 && call <= width ? call : width;
    lines.push_back(text.substr(0, end));
    text.erase(0, between_words ? end + 1 : end);
  }
  lines.push_back(std::move(text));
  return lines;
}

std::string border(const Strokes& strokes, const Widths& widths) {
  std::string text = strokes.left;
  for (int column = 0; column < columns; ++column) {
    if (column > 0) text += strokes.crossing;
    for (std::size_t i = 0; i < widths[column] + 2; ++i) text += strokes.line;
  }
  return text + strokes.right + "\n";
}

std::string cells(const char* wall, const Row& row, const Widths& widths) {
  std::array<std::vector<std::string>, columns> lines;
  std::size_t height = 0;
  for (int column = 0; column < columns; ++column) {
    lines[column] = lines_of(row[column], widths[column]);
    height = std::max(height, lines[column].size());
  }
  std::string text;
  for (std::size_t line = 0; line < height; ++line) {
    text += wall;
    for (int column = 0; column < columns; ++column) {
      const std::string cell = line < lines[column].size() ? lines[column][line] : "";
      text += to_the_right[column] ? fmt::format(" {:>{}} {}", cell, widths[column], wall)
                                   : fmt::format(" {:<{}} {}", cell, widths[column], wall);
    }
    text += "\n";
  }
  return text;
}

std::string totals(const std::vector<Layer>& layers) {
  std::int64_t total = 0;
  std::int64_t trainable = 0;
  for (const Layer& layer : layers) {
    for (const Variable& variable : layer.impl().variables()) {
      total += variable.shape().elements();
      if (variable.trainable()) trainable += variable.shape().elements();
    }
  }
  const auto line = [](const char* what, std::int64_t count) {
    return fmt::format(" {}: {} ({})\n", what, with_separators(count), memory_of(count));
  };
  return line("Total params", total) + line("Trainable params", trainable) +
         line("Non-trainable params", total - trainable);
}

}  // namespace

std::string summary_table(const SummaryHead& head, const std::vector<GraphCall>& calls,
                          const std::vector<Layer>& layers) {
  const Row titles{"Layer (type)", "Output Shape", "Param #", "Connected to"};
  const std::vector<Row> rows = layer_rows(head, calls, layers);
  const Widths widths = column_widths(titles, rows);
  std::string text = fmt::format("Model: \"{}\"\n", head.name) + border(top, widths) + cells("┃", titles, widths) +
                     border(below_head, widths);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (row > 0) text += border(between, widths);
    text += cells("│", rows[row], widths);
  }
  return text + border(bottom, widths) + totals(layers);
}

}  // namespace lockstep
