#pragma once

#include <filesystem>

namespace nvmdb::bench {

/// Writes a seeded wrfout of `frames` hourly frames through libnetcdf as 64-bit-offset classic: 300 x 250 points, 20
/// levels, WRF's dimensions, staggering, attributes and Times; smooth fields with a little noise, 66 MB a frame. Stops
/// the process when it cannot.
void write_wrf_file(const std::filesystem::path& path, int frames);

}  // namespace nvmdb::bench
