#pragma once

namespace nvmdb::query::derived {

// Formulas of moist air at one point.
// Units: temperature K, pressure Pa, mixing ratio kg kg-1 unless said otherwise.

/// Temperature of air with potential temperature `theta`. Source: Poisson's equation, kappa = 287 / 1004.5.
[[nodiscard]] double temperature(double theta, double pressure);
[[nodiscard]] double potential_temperature(double temperature, double pressure);
/// Units: hPa. Source: Bolton (1980), 10: over water.
[[nodiscard]] double saturation_pressure_hpa(double temperature);
/// Vapour pressure. Units: hPa.
[[nodiscard]] double vapour_pressure_hpa(double pressure, double mixing_ratio);
/// Source: Bolton (1980), 11 with the constants of NCL's wrf_td. Below 0.001 hPa of vapour it is that of
/// 0.001 hPa. Units: degrees Celsius.
[[nodiscard]] double dew_point_celsius(double pressure, double mixing_ratio);
/// Dew point where the vapour pressure is known. Units: degrees Celsius of hPa.
[[nodiscard]] double dew_point_of_vapour_celsius(double vapour_hpa);
/// Mixing ratio over that of saturation over water. Units: percent, 0 to 100. Source: as NCL's wrf_rh.
[[nodiscard]] double relative_humidity(double temperature, double pressure, double mixing_ratio);
/// Source: exact for an ideal mixture: T (eps + r) / (eps (1 + r)).
[[nodiscard]] double virtual_temperature(double temperature, double mixing_ratio);
/// Temperature at which a lifted parcel condenses. Source: Bolton (1980), 21.
[[nodiscard]] double condensation_temperature(double temperature, double vapour_hpa);
/// Source: Bolton (1980), 43. At least 1e-15 kg kg-1 of vapour are taken.
[[nodiscard]] double equivalent_potential_temperature(double temperature, double pressure,
                                                      double mixing_ratio);

}  // namespace nvmdb::query::derived
