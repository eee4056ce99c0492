#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/met/step.h"
#include "engine/met/time.h"

namespace nvmdb::query {

/// Which fields are asked for. What is left open is the default: the newest run that has what is asked.
struct Selection {
  std::string model;                    ///< empty: any
  std::string domain;                   ///< empty: any
  std::optional<met::UnixSeconds> run;  ///< empty: latest
  std::string version;                  ///< empty: any
  std::optional<std::uint32_t> member;  ///< empty: 0 when it exists, else the lowest
  std::string parameter;
  std::string level_type;                      ///< empty: any, an error when several fit
  std::optional<double> level;                 ///< empty: the only one, an error when several fit
  std::optional<double> level_bottom;          ///< of a layer; empty: any
  std::optional<met::StepSelector> step;       ///< empty: all (series), the first (slab)
  std::optional<met::UnixSeconds> valid_time;  ///< instead of step
};

enum class Interpolation : std::uint8_t { Nearest, Bilinear };

struct Point {
  double latitude = 0;
  double longitude = 0;
  bool operator==(const Point&) const = default;
};

/// West > east crosses the date line. Longitudes -180..360.
struct Box {
  double west = 0;
  double south = 0;
  double east = 0;
  double north = 0;
};

struct SeriesRequest {
  Selection selection;
  std::vector<Point> points;
  Interpolation interpolation = Interpolation::Nearest;
  std::string units;             ///< udunits name; empty: as stored
  std::uint64_t values_max = 0;  ///< more are refused; 0: as many as the engine answers at once
  /// Bytes of fields that may be compared with their checksums, because nobody read them before; Overloaded where it would
  /// be more.
  std::uint64_t check_bytes_max = ~0ULL;
  /// Overloaded where it would take more than some microseconds: a parameter that is computed, a grid not used before.
  bool only_short = false;
};

/// What the levels of a profile or a section are.
enum class Vertical : std::uint8_t {
  Stored,    ///< those that the run has
  Pressure,  ///< hPa, interpolated linearly in the logarithm of pressure
  Height,    ///< m above sea level, interpolated linearly
};

/// Values above one point, at one step.
struct ProfileRequest {
  Selection selection;  ///< of `level` and `level_bottom`, open means all; step open: the first
  Point point;
  Interpolation interpolation = Interpolation::Nearest;
  Vertical vertical = Vertical::Stored;
  std::vector<double> levels;  ///< where, in units of `vertical`; of Stored: none
  std::string units;           ///< of the values
};

/// Values above the great circle between two points, at one step.
struct SectionRequest {
  Selection selection;  ///< as of a profile
  Point from;
  Point to;
  std::uint32_t points = 50;  ///< at equal distances, both ends among them
  Interpolation interpolation = Interpolation::Nearest;
  Vertical vertical = Vertical::Stored;
  std::vector<double> levels;
  std::string units;
};

struct SlabRequest {
  Selection selection;
  std::optional<Box> box;  ///< empty: the whole grid
  bool clip = false;       ///< points of the window outside the box become missing
  std::string units;
};

}  // namespace nvmdb::query
