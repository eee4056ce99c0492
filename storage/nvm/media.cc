#include "storage/nvm/media.h"

#include "storage/base/check.h"

namespace nvmdb::storage {

std::string durability_words(Durability durability) {
  switch (durability) {
    case Durability::PowerFail:
      return "power-fail safe: persistent memory, durable by flush and fence";
    case Durability::FileSync:
      return "power-fail safe if the disk keeps what it acknowledges: ordinary file, durable by synchronous "
             "writes";
    case Durability::ProcessCrash:
      return "process-crash safe only: memory of this machine, lost at power-off or restart of the machine";
  }
  NVMDB_CHECK(false, "unknown durability");
}

}  // namespace nvmdb::storage
