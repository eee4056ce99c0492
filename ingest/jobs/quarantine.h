#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ingest/jobs/source_file.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace nvmdb::ingest {

/// Contents that crashed or hung a worker. After three times a content is refused without being decoded,
/// until the server starts again. Known by content hash, whatever the file is called. Threads: any number.
class Quarantine {
 public:
  /// Errors: InvalidArgument (refused: says why). A content is hashed only when one of its size has crashed
  /// before.
  [[nodiscard]] Status check(const SourceFile& file);
  void note_crash(const SourceFile& file, const Status& how);

 private:
  struct Entry {
    std::uint64_t size = 0;
    std::uint32_t crashes = 0;
    std::string how;
  };
  Mutex mutex_;
  std::map<std::string, Entry> entries_ NVMDB_GUARDED_BY(mutex_);  ///< by content hash; at most kEntriesMax
};

}  // namespace nvmdb::ingest
