#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "storage/base/result.h"
#include "storage/nvm/pool_identity.h"

namespace nvmdb::storage {

/// The libpmemobj pool that holds the identity and the root words.
///
/// libpmemobj guards its layout, its own metadata and the one-process rule. The words are written through a
/// Door, never by libpmemobj transactions: those cost microseconds, and libpmemobj decides once per process
/// whether files are persistent memory, which is wrong when pools of two kinds are open.
class PoolRoot {
 public:
  /// Creates the file with all words zero, and makes it durable.
  /// Errors: OutOfSpace, PermissionDenied, IoError.
  [[nodiscard]] static Status create(const std::filesystem::path& path, const IdentityBlock& identity);

  /// Opens the file. It is checked before a byte of it may change.
  /// Errors: Corruption (damaged, missing, or of another pool), Conflict (open elsewhere), PermissionDenied,
  /// IoError.
  [[nodiscard]] static Result<std::unique_ptr<PoolRoot>> open(const std::filesystem::path& path,
                                                              const IdentityBlock& identity);
  ~PoolRoot();
  PoolRoot(const PoolRoot&) = delete;
  PoolRoot& operator=(const PoolRoot&) = delete;

  /// The words, at a line boundary. Valid while this lives.
  [[nodiscard]] std::byte* words() const { return words_; }

 private:
  PoolRoot(void* pool, std::byte* words) : pool_(pool), words_(words) {}

  void* pool_;  ///< PMEMobjpool, whose header stays out of ours
  std::byte* words_;
};

}  // namespace nvmdb::storage
