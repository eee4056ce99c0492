#pragma once

// Constants of WRF and of the diagnostics that its users know. They differ a little from others in use (gas
// constant 287.04, gravity 9.80665); answers must agree with NCL and wrf-python, so these are theirs. Source:
// WRF module_model_constants.F; wrf-python wrf_constants; Bolton (1980), Mon. Wea. Rev. 108, 1046-1053.
namespace nvmdb::query::derived {

inline constexpr double kPi = 3.141592653589793;
inline constexpr double kDegree = kPi / 180.0;
inline constexpr double kGasDry = 287.0;    ///< J kg-1 K-1
inline constexpr double kHeatDry = 1004.5;  ///< J kg-1 K-1, at constant pressure
inline constexpr double kKappa = kGasDry / kHeatDry;
inline constexpr double kGravity = 9.81;           ///< m s-2
inline constexpr double kGravityWmo = 9.80665;     ///< m s-2; of geopotential metres in GRIB
inline constexpr double kThetaBase = 300.0;        ///< K; what WRF leaves out of T
inline constexpr double kPressureBase = 100000.0;  ///< Pa
inline constexpr double kFreezing = 273.15;        ///< K
inline constexpr double kGasRatio = 0.622;         ///< of dry air's and vapour's gas constants
inline constexpr double kGasVapour = 461.6;        ///< J kg-1 K-1
inline constexpr double kLapseRate = 0.0065;       ///< K m-1, standard atmosphere
/// Moist air's heat capacity is cp (1 + 0.887 r), its gas constant R (1 + 0.608 r). Source: Bolton
/// (1980), 23.
inline constexpr double kHeatMoist = 0.887;
inline constexpr double kKappaMoist = 0.608 - 0.887;

}  // namespace nvmdb::query::derived
