#pragma once

// Names of barriers and collectives in error messages and watchdog reports.

namespace lockstep {

///@{
/// Communicator's function of this name.
inline constexpr const char* all_reduce_name = "all_reduce";
inline constexpr const char* all_gather_name = "all_gather";
///@}
///@{
/// GradientUpdate::reduce_and_update: the sum of the gradients, and the end.
inline constexpr const char* gradients_name = "the reduction of gradients";
inline constexpr const char* update_end_name = "the end of the update";
///@}

}  // namespace lockstep
