#pragma once

#include <filesystem>
#include <string>

#include "storage/base/result.h"
#include "storage/base/status.h"
#include "storage/nvm/posix.h"

namespace nvmdb::storage {

/// Takes the file for this open file description until it is closed (flock: the kernel drops it when the
/// process dies). It belongs to the inode, so a second way to the same file, by symbolic or hard link, is
/// refused too. `known_owner` is named when the kernel does not tell who has it. Errors: Conflict (the
/// process that has it is named), IoError.
[[nodiscard]] Status lock_file(int fd, const std::string& path, const std::string& known_owner = {});

/// Creates `path` if need be, locks it and writes the process id of the owner into it.
/// Errors: as lock_file(); PermissionDenied, OutOfSpace.
[[nodiscard]] Result<FileDescriptor> lock_pool(const std::filesystem::path& path);

}  // namespace nvmdb::storage
