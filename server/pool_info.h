#pragma once

#include <vector>

#include "server/client.h"
#include "server/instance.h"
#include "storage/base/result.h"

namespace nvmdb::server {

/// What `nvmdb info` says of an open pool: pool, device and durability, memory, NVM, log, recovery, content.
[[nodiscard]] Result<std::vector<InfoItem>> pool_info(Instance& instance);

/// "8b1f...": a pool's uuid as 36 characters.
[[nodiscard]] std::string format_uuid(const std::array<unsigned char, 16>& uuid);

}  // namespace nvmdb::server
