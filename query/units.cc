#include "query/units.h"

#include <udunits2.h>

#include <array>
#include <utility>

#include "storage/base/mutex.h"

namespace nvmdb::query {
namespace {

// udunits keeps its state (also the last error) in globals.
Mutex udunits_mutex;

ut_system* units_system() NVMDB_REQUIRES(udunits_mutex) {
  static ut_system* const system = [] {
    ut_set_error_message_handler(ut_ignore);
    return ut_read_xml(nullptr);
  }();
  return system;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 34> kSpellings{{
    {"-", "1"},
    {"~", "1"},
    {"none", "1"},
    {"None", "1"},
    {"Numeric", "1"},
    {"dimensionless", "1"},
    {"(0 - 1)", "1"},
    {"0 - 1", "1"},
    {"fraction", "1"},
    {"Fraction", "1"},
    {"Proportion", "1"},
    {"proportion", "1"},
    {"area/area", "1"},
    {"gpm", "m"},
    {"meters MSL", "m"},
    {"m of water equivalent", "m"},
    {"degree", "degrees"},
    {"Degree", "degrees"},
    {"Degree true", "degrees"},
    {"degree true", "degrees"},
    {"degrees latitude", "degrees_north"},
    {"degrees longitude", "degrees_east"},
    {"C", "degC"},
    {"F", "degF"},
    {"deg C", "degC"},
    {"deg K", "K"},
    {"kelvin", "K"},
    {"ppb", "1e-9"},
    {"ppm", "1e-6"},
    {"psu", "1e-3"},
    {"kts", "knot"},
    {"mb", "hPa"},
    {"W m{-2}", "W m-2"},
    {"Celsius", "degC"},
}};

struct UnitDeleter {
  void operator()(ut_unit* unit) const { ut_free(unit); }
};
using UnitPtr = std::unique_ptr<ut_unit, UnitDeleter>;

Result<UnitPtr> parse_units(const std::string& units) NVMDB_REQUIRES(udunits_mutex) {
  UnitPtr unit(ut_parse(units_system(), udunits_spelling(units).c_str(), UT_UTF8));
  if (unit == nullptr) return Status::invalid_argument("units '" + units + "' are not known to udunits");
  return unit;
}

}  // namespace

std::string udunits_spelling(const std::string& units) {
  const auto first = units.find_first_not_of(' ');
  if (first == std::string::npos) return "1";
  const std::string trimmed = units.substr(first, units.find_last_not_of(' ') - first + 1);
  for (const auto& [from, to] : kSpellings) {
    if (trimmed == from) return std::string(to);
  }
  return trimmed;
}

struct UnitConverter::State {
  explicit State(cv_converter* made) : converter(made) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    const MutexLock lock(udunits_mutex);
    cv_free(converter);
  }
  cv_converter* converter;
};

Result<UnitConverter> UnitConverter::create(const std::string& from, const std::string& to) {
  cv_converter* converter = nullptr;
  {
    const MutexLock lock(udunits_mutex);
    if (units_system() == nullptr)
      return Status::io_error("udunits finds no unit database (libudunits2-data)");
    NVMDB_ASSIGN(const UnitPtr source, parse_units(from));
    NVMDB_ASSIGN(const UnitPtr target, parse_units(to));
    converter = ut_get_converter(source.get(), target.get());
  }
  if (converter == nullptr)
    return Status::invalid_argument("units '" + from + "' do not convert to '" + to + "'");
  return UnitConverter(std::make_shared<const State>(converter));
}

void UnitConverter::convert(std::span<float> values) const {
  const MutexLock lock(udunits_mutex);
  cv_convert_floats(state_->converter, values.data(), values.size(), values.data());
}

}  // namespace nvmdb::query
