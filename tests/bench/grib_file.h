#pragma once

#include <filesystem>
#include <string>

namespace nvmdb::bench {

/// Writes a seeded GRIB2 file through ecCodes: one step of 40 fields on a 0.25 degree global grid, 16 bits a
/// value; smooth fields with a little noise, 83 MB with `packing` "grid_simple". Stops the process when it
/// cannot.
void write_grib_file(const std::filesystem::path& path, const std::string& packing);

/// Decodes every field of the file to doubles with ecCodes, on the calling thread. Gives how many values
/// there were.
std::size_t decode_by_eccodes(const std::filesystem::path& path);

}  // namespace nvmdb::bench
