#include "tests/e2e/ingest/wrfout_writer.h"

#include <netcdf.h>

#include <string>
#include <vector>

#include "storage/base/check.h"

namespace nvmdb::ingest {
namespace {

constexpr std::size_t kRows = 6;
constexpr std::size_t kColumns = 8;
constexpr std::size_t kPoints = kRows * kColumns;

void must(int error) {
  NVMDB_CHECK(error == NC_NOERR, nc_strerror(error));
}

int dimension(int file, const char* name, std::size_t size) {
  int number = -1;
  must(nc_def_dim(file, name, size, &number));
  return number;
}

int variable(int file, const char* name, nc_type type, const std::vector<int>& dimensions) {
  int number = -1;
  must(nc_def_var(file, name, type, static_cast<int>(dimensions.size()), dimensions.data(), &number));
  return number;
}

void attribute(int file, const char* name, const std::string& value) {
  must(nc_put_att_text(file, NC_GLOBAL, name, value.size(), value.c_str()));
}

void put_frame(int file, int number, std::size_t frame, const std::vector<float>& values) {
  const std::size_t start[] = {frame, 0, 0};
  const std::size_t count[] = {1, kRows, kColumns};
  must(nc_put_vara_float(file, number, start, count, values.data()));
}

void put_time(int file, int number, std::size_t frame) {
  const std::string text = "2020-02-29_0" + std::to_string(frame) + ":00:00";
  const std::size_t start[] = {frame, 0};
  const std::size_t count[] = {1, text.size()};
  must(nc_put_vara_text(file, number, start, count, text.c_str()));
}

}  // namespace

void write_wrfout(const std::filesystem::path& path, int mode, const WrfoutContent& content) {
  int file = -1;
  must(nc_create(path.c_str(), NC_CLOBBER | mode, &file));
  const int time = dimension(file, "Time", NC_UNLIMITED);
  const int text = dimension(file, "DateStrLen", 19);
  const int rows = dimension(file, "south_north", kRows);
  const int columns = dimension(file, "west_east", kColumns);
  attribute(file, "TITLE", " OUTPUT FROM WRF V4.0 MODEL");
  attribute(file, "SIMULATION_START_DATE", "2020-02-29_00:00:00");
  attribute(file, "START_DATE", "2020-02-29_00:00:00");
  const int times = variable(file, "Times", NC_CHAR, {time, text});
  const int latitude = variable(file, "XLAT", NC_FLOAT, {time, rows, columns});
  const int longitude = variable(file, "XLONG", NC_FLOAT, {time, rows, columns});
  const int temperature = variable(file, "T2", NC_FLOAT, {time, rows, columns});
  must(nc_enddef(file));
  std::vector<float> north(kPoints);
  std::vector<float> east(kPoints);
  std::vector<float> values(kPoints);
  for (int frame = 0; frame < content.frames; ++frame) {
    for (std::size_t p = 0; p < kPoints; ++p) {
      north[p] = 40.0F + static_cast<float>(p / kColumns);
      east[p] = 100.0F + static_cast<float>(p % kColumns);
      values[p] = 280.0F + 10.0F * static_cast<float>(frame) + static_cast<float>(p) +
                  (frame >= content.changed_from ? content.offset : 0.0F);
    }
    const auto index = static_cast<std::size_t>(frame);
    put_time(file, times, index);
    put_frame(file, latitude, index, north);
    put_frame(file, longitude, index, east);
    put_frame(file, temperature, index, values);
  }
  must(nc_close(file));
}

void write_netcdf_bomb(const std::filesystem::path& path) {
  int file = -1;
  must(nc_create(path.c_str(), NC_CLOBBER | NC_NETCDF4, &file));
  const int rows = dimension(file, "south_north", 40'000);
  const int columns = dimension(file, "west_east", 40'000);
  const int number = variable(file, "T2", NC_FLOAT, {rows, columns});
  const std::size_t chunk[] = {1000, 1000};
  must(nc_def_var_chunking(file, number, NC_CHUNKED, chunk));
  must(nc_def_var_deflate(file, number, 1, 1, 9));
  must(nc_close(file));
}

}  // namespace nvmdb::ingest
