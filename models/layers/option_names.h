#pragma once

#include <string_view>
#include <utility>

#include <lockstep/kernels/image/affine_transform.h>
#include <lockstep/kernels/image/resize.h>
#include <lockstep/kernels/window/window.h>

namespace lockstep {

///@{
/// Keras' names of the values of options, for OptionVisitor::choice and OperationCall::choice.
inline constexpr std::pair<std::string_view, Padding> padding_names[] = {{"valid", Padding::valid},
                                                                         {"same", Padding::same}};
inline constexpr std::pair<std::string_view, Interpolation> interpolation_names[] = {
    {"nearest", Interpolation::nearest},
    {"bilinear", Interpolation::bilinear},
    {"bicubic", Interpolation::bicubic},
    {"lanczos3", Interpolation::lanczos3},
    {"lanczos5", Interpolation::lanczos5}};
inline constexpr std::pair<std::string_view, FillMode> fill_mode_names[] = {{"constant", FillMode::constant},
                                                                            {"nearest", FillMode::nearest},
                                                                            {"reflect", FillMode::reflect},
                                                                            {"wrap", FillMode::wrap}};
///@}

}  // namespace lockstep
