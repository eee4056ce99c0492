#pragma once

#include <netcdf.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tests/unit/ingest_netcdf/memory_sink.h"

namespace nvmdb::ingest {

/// Writes small files through libnetcdf, the reference for the format. Any failure stops the test program.
class NetcdfWriter {
 public:
  /// `mode`: 0 (CDF-1), NC_64BIT_OFFSET, NC_64BIT_DATA, NC_NETCDF4.
  NetcdfWriter(const std::string& path, int mode) { must(nc_create(path.c_str(), NC_CLOBBER | mode, &id_)); }
  NetcdfWriter(const NetcdfWriter&) = delete;
  NetcdfWriter& operator=(const NetcdfWriter&) = delete;
  ~NetcdfWriter() { close(); }

  int dimension(const char* name, std::size_t size) {
    int number = -1;
    must(nc_def_dim(id_, name, size, &number));
    return number;
  }
  int variable(const char* name, nc_type type, const std::vector<int>& dimensions) {
    int number = -1;
    must(nc_def_var(id_, name, type, static_cast<int>(dimensions.size()), dimensions.data(), &number));
    return number;
  }
  void text(int variable, const char* name, const std::string& value) {
    must(nc_put_att_text(id_, variable, name, value.size(), value.c_str()));
  }
  void number(int variable, const char* name, nc_type type, double value) {
    must(nc_put_att_double(id_, variable, name, type, 1, &value));
  }
  void number(int variable, const char* name, float value) {
    must(nc_put_att_float(id_, variable, name, NC_FLOAT, 1, &value));
  }
  void end_definitions() { must(nc_enddef(id_)); }
  template <class T>
  void values(int variable, const std::vector<T>& values) {
    must(nc_put_var(id_, variable, values.data()));
  }
  /// Values of the records [first, first + count) of a variable with a record dimension.
  template <class T>
  void records(int variable, std::size_t first, std::vector<std::size_t> count,
               const std::vector<T>& values) {
    std::vector<std::size_t> start(count.size(), 0);
    start[0] = first;
    must(nc_put_vara(id_, variable, start.data(), count.data(), values.data()));
  }
  void times(int variable, const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += text;
    const std::size_t start[] = {0, 0};
    const std::size_t count[] = {texts.size(), texts[0].size()};
    must(nc_put_vara_text(id_, variable, start, count, all.c_str()));
  }
  [[nodiscard]] int id() const { return id_; }
  void close() {
    if (id_ >= 0) must(nc_close(id_));
    id_ = -1;
  }
  static void must(int error) { NVMDB_CHECK(error == NC_NOERR, nc_strerror(error)); }

 private:
  int id_ = -1;
};

/// A small wrfout: 2 frames of 3 levels of 6 x 5 points, with what WRF writes beside them.
inline void write_small_wrfout(const std::string& path, int mode) {
  NetcdfWriter file(path, mode);
  const int time = file.dimension("Time", NC_UNLIMITED);
  const int text = file.dimension("DateStrLen", 19);
  const int levels = file.dimension("bottom_top", 3);
  const int rows = file.dimension("south_north", 6);
  const int columns = file.dimension("west_east", 5);
  const int columns_stag = file.dimension("west_east_stag", 6);
  file.text(NC_GLOBAL, "TITLE", " OUTPUT FROM WRF V4.0 MODEL");
  file.text(NC_GLOBAL, "SIMULATION_START_DATE", "2020-02-28_18:00:00");
  file.text(NC_GLOBAL, "START_DATE", "2020-02-29_00:00:00");
  file.number(NC_GLOBAL, "GRID_ID", NC_INT, 3);
  file.number(NC_GLOBAL, "MAP_PROJ", NC_INT, 1);
  file.number(NC_GLOBAL, "DX", 3000.0F);
  const int times = file.variable("Times", NC_CHAR, {time, text});
  const int latitude = file.variable("XLAT", NC_FLOAT, {time, rows, columns});
  const int longitude = file.variable("XLONG", NC_FLOAT, {time, rows, columns});
  const int t = file.variable("T", NC_FLOAT, {time, levels, rows, columns});
  const int u = file.variable("U", NC_FLOAT, {time, levels, rows, columns_stag});
  const int count = file.variable("ITIMESTEP", NC_INT, {time});
  file.text(t, "units", "K");
  file.end_definitions();
  file.times(times, {"2020-02-29_00:00:00", "2020-03-01_00:00:00"});
  std::vector<float> north(2 * 30);
  std::vector<float> east(2 * 30);
  for (std::size_t i = 0; i < 60; ++i) {
    // The nest moves by one degree between the frames.
    north[i] = 40.0F + static_cast<float>(i / 5 % 6) + (i >= 30 ? 1.0F : 0.0F);
    east[i] = 100.0F + static_cast<float>(i % 5);
  }
  file.records(latitude, 0, {2, 6, 5}, north);
  file.records(longitude, 0, {2, 6, 5}, east);
  std::vector<float> values(2 * 3 * 6 * 6);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.1F - 7;
  file.records(t, 0, {2, 3, 6, 5}, values);
  file.records(u, 0, {2, 3, 6, 6}, values);
  file.records(count, 0, {2}, std::vector<int>{10, 20});
}

}  // namespace nvmdb::ingest
