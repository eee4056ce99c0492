#pragma once

#include <span>
#include <string_view>

namespace nvmdb::query {

/// One spelling of a quantity: a parameter name, and where it must be for the quantity to be that one.
struct Spelling {
  std::string_view name;
  std::string_view level_type = {};  ///< empty: any
  double level = 0;                  ///< with level_type only
};

/// The other spellings of the quantity that `name` means, best first; empty when the name is no alias. Asked
/// only for names that a run does not have itself. Only names of the very same quantity are here: a total and
/// one of its parts (WRF's RAINNC and tp) are not aliases.
[[nodiscard]] std::span<const Spelling> other_spellings(std::string_view name);

}  // namespace nvmdb::query
