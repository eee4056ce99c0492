#include "ingest/decode/grib/keys.h"

#include <array>
#include <optional>

#include "ingest/decode/grib/octets.h"

namespace nvmdb::ingest::grib {
namespace {

constexpr std::int64_t kMissing = 2147483647;  // ecCodes' GRIB_MISSING_LONG
constexpr std::int64_t kNoSurface = 255;
constexpr std::int64_t kIsobaric = 100;
constexpr std::int64_t kPotentialVorticity = 109;

std::string dotted(std::initializer_list<std::optional<std::int64_t>> numbers) {
  std::string text;
  for (const auto& number : numbers) {
    if (!text.empty()) text += '.';
    text += std::to_string(number.value_or(kMissing));
  }
  return text;
}

std::string numeric_code(const Handle& handle, unsigned edition) {
  if (edition == 1) return dotted({handle.integer("table2Version"), handle.integer("indicatorOfParameter")});
  return dotted(
      {handle.integer("discipline"), handle.integer("parameterCategory"), handle.integer("parameterNumber")});
}

struct Qualifier {
  const char* key;
  const char* mark;
};

/// Keys of product templates that tell fields apart which share parameter, level and step: without them mean
/// and spread, percentiles, probabilities, constituents or satellite bands would overwrite one another.
constexpr std::array kQualifiers = {
    Qualifier{"derivedForecast", "derived"},
    Qualifier{"percentileValue", "percentile"},
    Qualifier{"quantileValue", "quantile"},
    Qualifier{"probabilityType", "probability"},
    Qualifier{"scaledValueOfLowerLimit", "lower"},
    Qualifier{"scaleFactorOfLowerLimit", "lowerscale"},
    Qualifier{"scaledValueOfUpperLimit", "upper"},
    Qualifier{"scaleFactorOfUpperLimit", "upperscale"},
    Qualifier{"constituentType", "constituent"},
    Qualifier{"scaledValueOfFirstSize", "size"},
    Qualifier{"scaledValueOfFirstWavelength", "wavelength"},
    Qualifier{"satelliteSeries", "series"},
    Qualifier{"satelliteNumber", "satellite"},
    Qualifier{"instrumentType", "instrument"},
    Qualifier{"scaleFactorOfCentralWaveNumber", "wavenumberscale"},
    Qualifier{"scaledValueOfCentralWaveNumber", "wavenumber"},
    Qualifier{"waveDirectionNumber", "direction"},
    Qualifier{"waveFrequencyNumber", "frequency"},
};

void add(std::string& list, const std::string& item) {
  if (!list.empty()) list += '+';
  list += item;
}

std::string qualifiers(const Handle& handle, unsigned edition) {
  std::string text;
  if (edition == 2) {
    for (const Qualifier& q : kQualifiers) {
      const auto value = handle.integer(q.key);
      if (value && *value != kMissing) add(text, q.mark + std::to_string(*value));
    }
    // The levels of all surfaces without a name are called "unknown": their codes keep them apart.
    if (handle.text("typeOfLevel") == "unknown") {
      add(text, "surface" + dotted({handle.integer("typeOfFirstFixedSurface")}));
    }
    return text;
  }
  for (const char* key : {"directionNumber", "frequencyNumber"}) {
    if (const auto value = handle.integer(key); value) add(text, std::string(key) + std::to_string(*value));
  }
  const std::string type = handle.text("dataType").value_or("");
  if (type == "em" || type == "es") add(text, type);
  if (handle.text("typeOfLevel") == "unknown") {
    add(text, "surface" + dotted({handle.integer("indicatorOfTypeOfLevel")}));
  }
  return text;
}

/// scaled / 10^exponent with one rounding.
double scale(std::int64_t scaled, std::int64_t exponent) {
  double power = 1;
  for (std::int64_t i = exponent < 0 ? -exponent : exponent; i > 0; --i) power *= 10;
  return exponent < 0 ? static_cast<double>(scaled) * power : static_cast<double>(scaled) / power;
}

/// Level of one fixed surface in the unit of ecCodes' `level`: hPa for isobaricInhPa, 1e-6 K m2 kg-1 s-1 for
/// potentialVorticity.
double surface_value(const Handle& handle, const char* type_key, const char* factor_key,
                     const char* value_key) {
  const std::int64_t scaled = handle.integer(value_key).value_or(kMissing);
  if (scaled == kMissing) return 0;
  const std::int64_t type = handle.integer(type_key).value_or(kNoSurface);
  std::int64_t exponent = handle.integer(factor_key).value_or(0);
  if (exponent == kMissing) exponent = 0;
  if (type == kIsobaric && handle.text("pressureUnits") == "hPa") exponent += 2;
  if (type == kPotentialVorticity) exponent -= 6;
  return scale(signed4(static_cast<std::uint32_t>(scaled)), exponent);
}

}  // namespace

Result<met::Parameter> read_parameter(const Handle& handle, unsigned edition) {
  if (edition == 2 && !handle.integer("parameterNumber")) {
    return Status::invalid_argument("product definition template " +
                                    dotted({handle.integer("productDefinitionTemplateNumber")}) +
                                    " is not known");
  }
  met::Parameter parameter;
  parameter.short_name = handle.text("shortName").value_or("unknown");
  parameter.long_name = handle.text("name").value_or("unknown");
  parameter.units = handle.text("units").value_or("unknown");
  parameter.param_id = static_cast<std::int32_t>(handle.integer("paramId").value_or(0));
  parameter.origin = "grib";
  if (parameter.short_name == "unknown" || parameter.short_name == "~") {
    parameter.discriminator = numeric_code(handle, edition);
  }
  if (const std::string more = qualifiers(handle, edition); !more.empty()) add(parameter.discriminator, more);
  return parameter;
}

met::Level read_level(const Handle& handle, unsigned edition) {
  met::Level level;
  level.type = handle.text("typeOfLevel").value_or("none");
  if (level.type == "none") return level;
  if (edition == 1) {
    level.value = handle.real("topLevel").value_or(handle.real("level").value_or(0));
    level.bottom = handle.real("bottomLevel").value_or(level.value);
    return level;
  }
  level.value = surface_value(handle, "typeOfFirstFixedSurface", "scaleFactorOfFirstFixedSurface",
                              "scaledValueOfFirstFixedSurface");
  level.bottom = level.value;
  if (handle.integer("typeOfSecondFixedSurface").value_or(kNoSurface) != kNoSurface) {
    level.bottom = surface_value(handle, "typeOfSecondFixedSurface", "scaleFactorOfSecondFixedSurface",
                                 "scaledValueOfSecondFixedSurface");
  }
  return level;
}

std::uint32_t read_member(const Handle& handle) {
  constexpr std::int64_t kMemberMax = 1'000'000;
  for (const char* key : {"number", "perturbationNumber"}) {
    const auto number = handle.integer(key);
    if (number && *number >= 0 && *number < kMemberMax) return static_cast<std::uint32_t>(*number);
  }
  return 0;
}

std::string read_version(const Handle& handle) {
  const std::string version = handle.text("expver").value_or("");
  return version.size() == 4 ? version : "";
}

}  // namespace nvmdb::ingest::grib
