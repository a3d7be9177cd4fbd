#pragma once

// Names of barriers and collectives in error messages and watchdog reports.

namespace lockstep {

///@{
/// The functions of Communicator.
inline constexpr const char* all_reduce_name = "all_reduce";
inline constexpr const char* all_gather_name = "all_gather";
///@}
///@{
/// GradientUpdate's barriers and collectives that sum the gradients, and the last barrier of reduce_and_update.
inline constexpr const char* gradients_name = "the reduction of gradients";
inline constexpr const char* update_end_name = "the end of the update";
///@}

}  // namespace lockstep
