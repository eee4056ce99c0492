#pragma once

#include <filesystem>

namespace nvmdb::bench {

/// Writes a seeded wrfout of one frame through libnetcdf as 64-bit-offset classic: 300 x 250 points, 20 levels, WRF's
/// dimensions, staggering, attributes and Times; smooth fields with a little noise, about 70 MB. Stops the process
/// when it cannot.
void write_wrf_file(const std::filesystem::path& path);

}  // namespace nvmdb::bench
