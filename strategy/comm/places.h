#pragma once

// Names, for errors and the watchdog, of the barriers and collectives of replicas and workers.

namespace lockstep {

///@{
/// Of the function of this name.
inline constexpr const char* reduce_place = "all_reduce";
inline constexpr const char* gather_place = "all_gather";
///@}
///@{
/// Of GradientUpdate::reduce_and_update: where gradients come together, and its end.
inline constexpr const char* gradients_place = "the reduction of gradients";
inline constexpr const char* update_end = "the end of the update";
///@}

}  // namespace lockstep
