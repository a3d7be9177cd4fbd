#pragma once

// Names of barriers and collectives in error messages and watchdog reports.

namespace lockstep {

///@{
/// Communicator's function of this name.
inline constexpr const char* reduce_place = "all_reduce";
inline constexpr const char* gather_place = "all_gather";
///@}
///@{
/// GradientUpdate::reduce_and_update: the sum of the gradients, and the end.
inline constexpr const char* gradients_place = "the reduction of gradients";
inline constexpr const char* update_end = "the end of the update";
///@}

}  // namespace lockstep
