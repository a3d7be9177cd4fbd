#pragma once

#include <CLI/CLI.hpp>

namespace lockstep::cli {

// Each adds its sub-command to the program. A command that ends otherwise than well, but not by an error, sets
// `exit_code`.

void add_devices_command(CLI::App& program, int& exit_code);
void add_doctor_command(CLI::App& program, int& exit_code);
void add_train_command(CLI::App& program, int& exit_code);
void add_evaluate_command(CLI::App& program, int& exit_code);
void add_predict_command(CLI::App& program, int& exit_code);
void add_bench_command(CLI::App& program, int& exit_code);
void add_scaling_command(CLI::App& program, int& exit_code);
void add_summary_command(CLI::App& program, int& exit_code);
void add_convert_command(CLI::App& program, int& exit_code);

}  // namespace lockstep::cli
