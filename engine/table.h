#pragma once

#include <cstdint>
#include <string>

namespace nvmdb::engine {

/// A table is known by its number in the log and in checkpoints: numbers are never reused for another table.
using TableId = std::uint16_t;

/// What a component declares of a table before the database is opened. Rows are byte strings; their layout belongs
/// to the component.
struct TableSpec {
  TableId id = 0;
  std::string name;
  std::uint32_t key_words = 1;  ///< 1, 2, 4 or 6
};

}  // namespace nvmdb::engine
