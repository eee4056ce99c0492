#pragma once

namespace nvmdb::server {

/// Version of this program, from the build.
inline constexpr const char* kVersion = NVMDB_VERSION;

}  // namespace nvmdb::server
