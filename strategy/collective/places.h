#pragma once

// What errors, and the watchdog, call the places where the replicas, and the workers, meet.

namespace lockstep {

///@{
/// Of the function of this name.
inline constexpr const char* reduce_place = "all_reduce";
inline constexpr const char* gather_place = "all_gather";
///@}
/// Of Collective::reduce_and_update.
inline constexpr const char* gradients_place = "the reduction of gradients";

}  // namespace lockstep
