#include "tests/bench/wrf_file.h"

#include <netcdf.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "storage/base/check.h"
#include "storage/base/random.h"

namespace nvmdb::bench {
namespace {

constexpr std::size_t kColumns = 300;
constexpr std::size_t kRows = 250;
constexpr std::size_t kLevels = 20;

void must_nc(int code) { NVMDB_CHECK(code == NC_NOERR, nc_strerror(code)); }

struct Dimensions {
  int time, text, levels, levels_stag, rows, rows_stag, columns, columns_stag;
};

struct Variable {
  const char* name;
  const char* units;
  char stagger;  ///< ' ', 'X', 'Y', 'Z'
  bool has_levels;
  float base;
  float swing;
};
constexpr std::array<Variable, 20> kVariables{{{"T", "K", ' ', true, 10, 30},
                                               {"U", "m s-1", 'X', true, 5, 20},
                                               {"V", "m s-1", 'Y', true, 0, 20},
                                               {"W", "m s-1", 'Z', true, 0, 1},
                                               {"P", "Pa", ' ', true, 500, 800},
                                               {"PB", "Pa", ' ', true, 50000, 40000},
                                               {"PH", "m2 s-2", 'Z', true, 100, 3000},
                                               {"PHB", "m2 s-2", 'Z', true, 80000, 70000},
                                               {"QVAPOR", "kg kg-1", ' ', true, 0.006F, 0.005F},
                                               {"QCLOUD", "kg kg-1", ' ', true, 0, 0.0001F},
                                               {"T2", "K", ' ', false, 285, 15},
                                               {"Q2", "kg kg-1", ' ', false, 0.008F, 0.006F},
                                               {"PSFC", "Pa", ' ', false, 95000, 6000},
                                               {"U10", "m s-1", ' ', false, 0, 10},
                                               {"V10", "m s-1", ' ', false, 0, 10},
                                               {"HGT", "m", ' ', false, 800, 700},
                                               {"RAINC", "mm", ' ', false, 2, 2},
                                               {"RAINNC", "mm", ' ', false, 4, 4},
                                               {"TSK", "K", ' ', false, 288, 15},
                                               {"SWDOWN", "W m-2", ' ', false, 400, 400}}};

std::vector<float> smooth(std::size_t levels, std::size_t rows, std::size_t columns, float base, float swing,
                          SeededRandom& random) {
  std::vector<float> values(levels * rows * columns);
  std::size_t at = 0;
  for (std::size_t k = 0; k < levels; ++k) {
    for (std::size_t j = 0; j < rows; ++j) {
      for (std::size_t i = 0; i < columns; ++i) {
        const float wave = std::sin(0.03F * static_cast<float>(i) + 0.2F * static_cast<float>(k)) *
                           std::cos(0.04F * static_cast<float>(j));
        values[at++] = base + swing * (wave + 0.01F * static_cast<float>(random.unit()));
      }
    }
  }
  return values;
}

Dimensions define_dimensions(int file) {
  Dimensions d{};
  must_nc(nc_def_dim(file, "Time", NC_UNLIMITED, &d.time));
  must_nc(nc_def_dim(file, "DateStrLen", 19, &d.text));
  must_nc(nc_def_dim(file, "bottom_top", kLevels, &d.levels));
  must_nc(nc_def_dim(file, "bottom_top_stag", kLevels + 1, &d.levels_stag));
  must_nc(nc_def_dim(file, "south_north", kRows, &d.rows));
  must_nc(nc_def_dim(file, "south_north_stag", kRows + 1, &d.rows_stag));
  must_nc(nc_def_dim(file, "west_east", kColumns, &d.columns));
  must_nc(nc_def_dim(file, "west_east_stag", kColumns + 1, &d.columns_stag));
  return d;
}

void put_attributes(int file) {
  const auto text = [&](const char* name, const std::string& value) {
    must_nc(nc_put_att_text(file, NC_GLOBAL, name, value.size(), value.c_str()));
  };
  const auto number = [&](const char* name, float value) {
    must_nc(nc_put_att_float(file, NC_GLOBAL, name, NC_FLOAT, 1, &value));
  };
  const auto whole = [&](const char* name, int value) {
    must_nc(nc_put_att_int(file, NC_GLOBAL, name, NC_INT, 1, &value));
  };
  text("TITLE", " OUTPUT FROM WRF V4.2 MODEL (synthetic)");
  text("START_DATE", "2024-01-15_00:00:00");
  text("SIMULATION_START_DATE", "2024-01-15_00:00:00");
  number("DX", 9000);
  number("DY", 9000);
  whole("GRID_ID", 1);
  whole("MAP_PROJ", 1);
  number("CEN_LAT", 47);
  number("CEN_LON", 8);
  number("TRUELAT1", 47);
  number("TRUELAT2", 47);
  number("MOAD_CEN_LAT", 47);
  number("STAND_LON", 8);
  number("POLE_LAT", 90);
  number("POLE_LON", 0);
}

int define_variable(int file, const Dimensions& d, const Variable& v) {
  std::vector<int> dims = {d.time};
  if (v.has_levels) dims.push_back(v.stagger == 'Z' ? d.levels_stag : d.levels);
  dims.push_back(v.stagger == 'Y' ? d.rows_stag : d.rows);
  dims.push_back(v.stagger == 'X' ? d.columns_stag : d.columns);
  int id = 0;
  must_nc(nc_def_var(file, v.name, NC_FLOAT, static_cast<int>(dims.size()), dims.data(), &id));
  must_nc(nc_put_att_text(file, id, "units", std::strlen(v.units), v.units));
  const char stagger[2] = {v.stagger == ' ' ? '\0' : v.stagger, '\0'};
  must_nc(nc_put_att_text(file, id, "stagger", std::strlen(stagger), stagger));
  return id;
}

/// Positions of a Lambert grid near its centre, as a plane: good enough for data that nobody locates points on.
std::vector<float> positions(bool latitude, char stagger) {
  const std::size_t rows = kRows + (stagger == 'Y' ? 1 : 0);
  const std::size_t columns = kColumns + (stagger == 'X' ? 1 : 0);
  std::vector<float> values;
  for (std::size_t j = 0; j < rows; ++j) {
    for (std::size_t i = 0; i < columns; ++i) {
      const float row = static_cast<float>(j) - (stagger == 'Y' ? 0.5F : 0.0F);
      const float column = static_cast<float>(i) - (stagger == 'X' ? 0.5F : 0.0F);
      values.push_back(latitude ? 47.0F + 0.081F * (row - 124.5F) : 8.0F + 0.119F * (column - 149.5F));
    }
  }
  return values;
}

struct Position {
  const char* name;
  bool latitude;
  char stagger;
};
constexpr std::array<Position, 6> kPositions{{{"XLAT", true, ' '},
                                              {"XLONG", false, ' '},
                                              {"XLAT_U", true, 'X'},
                                              {"XLONG_U", false, 'X'},
                                              {"XLAT_V", true, 'Y'},
                                              {"XLONG_V", false, 'Y'}}};

struct Ids {
  int times = 0;
  std::vector<int> positions;
  std::vector<int> variables;
};

void write_frame(int file, const Ids& ids, std::size_t frame, SeededRandom& random) {
  const std::array<std::size_t, 4> start{frame};
  const std::array<std::size_t, 2> text_count{1, 19};
  std::string time = "2024-01-15_00:00:00";
  time[12] = static_cast<char>('0' + frame % 10);
  must_nc(nc_put_vara_text(file, ids.times, start.data(), text_count.data(), time.c_str()));
  for (std::size_t i = 0; i < kPositions.size(); ++i) {
    const Position& p = kPositions[i];
    const std::array<std::size_t, 3> plane{1, kRows + (p.stagger == 'Y' ? 1 : 0), kColumns + (p.stagger == 'X' ? 1 : 0)};
    must_nc(nc_put_vara_float(file, ids.positions[i], start.data(), plane.data(), positions(p.latitude, p.stagger).data()));
  }
  for (std::size_t i = 0; i < kVariables.size(); ++i) {
    const Variable& v = kVariables[i];
    const std::size_t levels = v.has_levels ? kLevels + (v.stagger == 'Z' ? 1 : 0) : 1;
    const std::size_t rows = kRows + (v.stagger == 'Y' ? 1 : 0);
    const std::size_t columns = kColumns + (v.stagger == 'X' ? 1 : 0);
    const std::vector<float> values = smooth(levels, rows, columns, v.base, v.swing, random);
    std::vector<std::size_t> count = {1, rows, columns};
    if (v.has_levels) count.insert(count.begin() + 1, levels);
    must_nc(nc_put_vara_float(file, ids.variables[i], start.data(), count.data(), values.data()));
  }
}

}  // namespace

void write_wrf_file(const std::filesystem::path& path, int frames) {
  int file = 0;
  must_nc(nc_create(path.c_str(), NC_CLOBBER | NC_64BIT_OFFSET, &file));
  const Dimensions d = define_dimensions(file);
  put_attributes(file);
  Ids ids;
  const std::array<int, 2> time_dims{d.time, d.text};
  must_nc(nc_def_var(file, "Times", NC_CHAR, 2, time_dims.data(), &ids.times));
  for (const Position& p : kPositions) {
    ids.positions.push_back(
        define_variable(file, d, {p.name, p.latitude ? "degree_north" : "degree_east", p.stagger, false, 0, 0}));
  }
  for (const Variable& v : kVariables) ids.variables.push_back(define_variable(file, d, v));
  int old_fill = 0;
  must_nc(nc_set_fill(file, NC_NOFILL, &old_fill));
  must_nc(nc_enddef(file));

  SeededRandom random(42);
  for (int frame = 0; frame < frames; ++frame) write_frame(file, ids, static_cast<std::size_t>(frame), random);
  must_nc(nc_close(file));
}

}  // namespace nvmdb::bench
