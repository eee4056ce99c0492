#pragma once

#include <filesystem>

namespace nvmdb::ingest {

/// A small wrfout, hourly from 2020-02-29_00:00:00, 8 x 6 points of T2. Value of point p in frame f:
/// 280 + 10 f + p + offset, for frames from `changed_from` on; without the offset before.
struct WrfoutContent {
  int frames = 2;
  float offset = 0;
  int changed_from = 0;
};

/// Writes it through libnetcdf; `mode`: 0 (classic), NC_NETCDF4, ... Any failure stops the test program.
void write_wrfout(const std::filesystem::path& path, int mode, const WrfoutContent& content);

/// A NetCDF-4 file of about 8 KB that declares a variable of 6.4 GB and holds none of it.
void write_netcdf_bomb(const std::filesystem::path& path);

}  // namespace nvmdb::ingest
