#include "query/derived/definition.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace nvmdb::query::derived {
namespace {

std::vector<Definition> join() {
  std::vector<Definition> all;
  for (auto* const table : {thermodynamic_definitions, wind_definitions, column_definitions, rain_definitions,
                            grib_definitions}) {
    std::vector<Definition> part = table();
    std::move(part.begin(), part.end(), std::back_inserter(all));
  }
  return all;
}

struct Parts {
  std::string_view name;
  std::array<std::string_view, 4> parts;
};

// What wrf-python answers as one variable of several parts.
constexpr std::array<Parts, 8> kParts{{
    {"uvmet", {"uvmet_u", "uvmet_v"}},
    {"uvmet10", {"uvmet10_u", "uvmet10_v"}},
    {"wspd_wdir", {"wspd", "wdir"}},
    {"wspd_wdir10", {"wspd10", "wdir10"}},
    {"uvmet_wspd_wdir", {"uvmet_wspd", "uvmet_wdir"}},
    {"uvmet10_wspd_wdir", {"uvmet10_wspd", "uvmet10_wdir"}},
    {"cape_2d", {"mcape", "mcin", "lcl", "lfc"}},
    {"cape_3d", {"cape", "cin"}},
}};

}  // namespace

const std::vector<Definition>& all_definitions() {
  static const std::vector<Definition> all = join();
  return all;
}

std::span<const Definition* const> definitions_named(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, std::vector<const Definition*>> made;
    for (const Definition& definition : all_definitions()) made[definition.name].push_back(&definition);
    return made;
  }();
  const auto found = index.find(name);
  if (found == index.end()) return {};
  return found->second;
}

std::vector<std::string_view> parts_of(std::string_view name) {
  const auto* const found =
      std::find_if(kParts.begin(), kParts.end(), [&](const Parts& parts) { return parts.name == name; });
  if (found == kParts.end()) return {};
  std::vector<std::string_view> parts(found->parts.begin(), found->parts.end());
  std::erase(parts, std::string_view());
  return parts;
}

}  // namespace nvmdb::query::derived
