#include "query/alias.h"

#include <array>

namespace nvmdb::query {
namespace {

constexpr std::string_view kAboveGround = "heightAboveGround";

// Each row lists spellings of one quantity: ecCodes short names, WRF variables, CF and everyday names. A
// spelling with a level answers for the others only at that level.
constexpr std::array<Spelling, 6> kTemperature2m{
    {{"2t"}, {"T2"}, {"t2m"}, {"air_temperature_2m"}, {"temperature_2m"}, {"t", kAboveGround, 2}}};
constexpr std::array<Spelling, 6> kWindU10m{
    {{"10u"}, {"U10"}, {"u10"}, {"u10m"}, {"wind_u_10m"}, {"u", kAboveGround, 10}}};
constexpr std::array<Spelling, 6> kWindV10m{
    {{"10v"}, {"V10"}, {"v10"}, {"v10m"}, {"wind_v_10m"}, {"v", kAboveGround, 10}}};
constexpr std::array<Spelling, 4> kDewPoint2m{{{"2d"}, {"d2m"}, {"td2m"}, {"dewpoint_2m"}}};
constexpr std::array<Spelling, 5> kHumidity2m{
    {{"2r"}, {"r2"}, {"rh2m"}, {"relative_humidity_2m"}, {"r", kAboveGround, 2}}};
constexpr std::array<Spelling, 5> kMixingRatio2m{
    {{"Q2"}, {"q2m"}, {"2mix"}, {"mixr2m"}, {"mixr", kAboveGround, 2}}};
constexpr std::array<Spelling, 5> kSeaLevelPressure{{{"msl"}, {"prmsl"}, {"mslet"}, {"slp"}, {"mslp"}}};
constexpr std::array<Spelling, 4> kSurfacePressure{{{"sp"}, {"PSFC"}, {"surface_pressure"}, {"psfc"}}};
constexpr std::array<Spelling, 4> kPrecipitation{
    {{"tp"}, {"apcp"}, {"total_precipitation"}, {"precipitation"}}};
constexpr std::array<Spelling, 3> kSkinTemperature{{{"skt"}, {"TSK"}, {"skin_temperature"}}};
constexpr std::array<Spelling, 3> kSeaTemperature{{{"sst"}, {"SST"}, {"sea_surface_temperature"}}};
constexpr std::array<Spelling, 3> kLandMask{{{"lsm"}, {"LANDMASK"}, {"land_sea_mask"}}};
constexpr std::array<Spelling, 4> kHeight{{{"gh"}, {"hgt"}, {"geopotential_height"}, {"z_gpm"}}};
constexpr std::array<Spelling, 3> kCloudCover{{{"tcc"}, {"total_cloud_cover"}, {"tcdc"}}};
constexpr std::array<Spelling, 3> kGust{{{"gust"}, {"10fg"}, {"wind_gust"}}};

constexpr std::array<std::span<const Spelling>, 15> kQuantities{
    {kTemperature2m, kWindU10m, kWindV10m, kDewPoint2m, kHumidity2m, kMixingRatio2m, kSeaLevelPressure,
     kSurfacePressure, kPrecipitation, kSkinTemperature, kSeaTemperature, kLandMask, kHeight, kCloudCover,
     kGust}};

}  // namespace

std::span<const Spelling> other_spellings(std::string_view name) {
  for (const std::span<const Spelling> quantity : kQuantities) {
    for (const Spelling& spelling : quantity) {
      // "t" alone means temperature anywhere, not the one at 2 m.
      if (spelling.name == name && spelling.level_type.empty()) return quantity;
    }
  }
  return {};
}

}  // namespace nvmdb::query
