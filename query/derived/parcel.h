#pragma once

#include <span>
#include <vector>

namespace nvmdb::query::derived {

/// A column of air, lowest level first.
struct AirColumn {
  std::vector<double> pressure_hpa;
  std::vector<double> temperature;   ///< K
  std::vector<double> mixing_ratio;  ///< kg kg-1
  std::vector<double> height;        ///< m above sea level
  double terrain = 0;                ///< m
  double surface_pressure_hpa = 0;

  [[nodiscard]] std::size_t levels() const { return pressure_hpa.size(); }
  void resize(std::size_t levels);
};

/// A parcel to be lifted from level `start` of a column.
struct Parcel {
  std::size_t start = 0;
  double temperature = 0;   ///< K
  double mixing_ratio = 0;  ///< kg kg-1
  bool is_mixed = false;    ///< of a layer, not of one level
};

/// What lifting a parcel finds. Missing: NaN.
struct Ascent {
  double cape = 0;  ///< J kg-1
  double cin = 0;   ///< J kg-1, positive; missing where CAPE is below 100
  double lcl = 0;   ///< m above ground
  double lfc = 0;   ///< m above ground
};

/// The parcel of greatest equivalent potential temperature in the lowest 3 km, mixed over 500 m.
/// Source: Colman (1990), Mon. Wea. Rev. 118; as RIP's and NCL's "cape_2d".
[[nodiscard]] Parcel most_unstable_parcel(const AirColumn& column);
/// The air of one level.
[[nodiscard]] Parcel parcel_at(const AirColumn& column, std::size_t level);
/// Lifts a parcel: dry to its condensation level, then along a pseudoadiabat, buoyant by virtual temperature.
/// CAPE is the energy from the level of free convection to the highest level of buoyancy, CIN the energy
/// needed below; the level of free convection is where the energy spent is the greatest, between the
/// condensation level and there. Three things are as NCL 6.6.2 and wrf-python do them, because their numbers
/// are the ones that people know: the first model level above the condensation level is left out, below it a
/// mixed parcel has the air of its level, and the condensation level of a parcel that is not mixed is too low
/// by twice the vapour's share of the heat capacity. Source: Stoelinga, RIP version 4; NCL's wrf_cape_2d and
/// wrf_cape_3d.
[[nodiscard]] Ascent lift(const AirColumn& column, const Parcel& parcel);

}  // namespace nvmdb::query::derived
