#include "ingest/decode/netcdf/dataset.h"

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "storage/base/narrow.h"

namespace nvmdb::ingest::netcdf {
namespace {

constexpr std::size_t kTextMax = 64 << 10U;
constexpr std::size_t kNumbersMax = 4096;
constexpr double kExactIntegerMax = 9007199254740992.0;

/// A float that a header holds as 0.12f is 0.12 for a reader, not 0.11999999731779099.
double shortest_decimal(double number) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(number));
  double decimal = number;
  if (error == std::errc{}) std::from_chars(text.data(), end, decimal);
  return decimal;
}

nlohmann::ordered_json number_to_json(double number, ValueType type) {
  if (!std::isfinite(number)) return nullptr;
  if (type == ValueType::Float64) return number;
  if (type == ValueType::Float32) return shortest_decimal(number);
  if (std::fabs(number) <= kExactIntegerMax) return static_cast<std::int64_t>(number);
  return number;
}

nlohmann::ordered_json attribute_to_json(const Attribute& attribute) {
  if (attribute.type == ValueType::Char || attribute.type == ValueType::String)
    return attribute.text.substr(0, kTextMax);
  if (attribute.numbers.size() == 1) return number_to_json(attribute.numbers.front(), attribute.type);
  auto array = nlohmann::ordered_json::array();
  for (const double number : attribute.numbers) {
    if (array.size() == kNumbersMax) break;
    array.push_back(number_to_json(number, attribute.type));
  }
  return array;
}

}  // namespace

std::uint32_t value_bytes(ValueType type) {
  switch (type) {
    case ValueType::Int8:
    case ValueType::Char:
    case ValueType::Uint8:
      return 1;
    case ValueType::Int16:
    case ValueType::Uint16:
      return 2;
    case ValueType::Int32:
    case ValueType::Uint32:
    case ValueType::Float32:
      return 4;
    case ValueType::Float64:
    case ValueType::Int64:
    case ValueType::Uint64:
      return 8;
    case ValueType::String:
    case ValueType::Unsupported:
      return 0;
  }
  return 0;
}

std::string_view value_type_name(ValueType type) {
  switch (type) {
    case ValueType::Int8:
      return "byte";
    case ValueType::Char:
      return "char";
    case ValueType::Int16:
      return "short";
    case ValueType::Int32:
      return "int";
    case ValueType::Float32:
      return "float";
    case ValueType::Float64:
      return "double";
    case ValueType::Uint8:
      return "ubyte";
    case ValueType::Uint16:
      return "ushort";
    case ValueType::Uint32:
      return "uint";
    case ValueType::Int64:
      return "int64";
    case ValueType::Uint64:
      return "uint64";
    case ValueType::String:
      return "string";
    case ValueType::Unsupported:
      return "unsupported";
  }
  return "unsupported";
}

bool is_numeric(ValueType type) {
  return type != ValueType::Char && type != ValueType::String && type != ValueType::Unsupported;
}

const Variable* Dataset::find_variable(std::string_view name) const {
  for (const Variable& variable : variables) {
    if (variable.name == name) return &variable;
  }
  return nullptr;
}

std::uint32_t Dataset::index_of(const Variable& variable) const {
  return narrow<std::uint32_t>(&variable - variables.data());
}

std::uint64_t Dataset::elements(const Variable& variable, std::size_t first) const {
  std::uint64_t product = 1;
  for (std::size_t i = first; i < variable.dimensions.size(); ++i)
    product *= dimensions[variable.dimensions[i]].size;
  return product;
}

const Attribute* find_attribute(const std::vector<Attribute>& attributes, std::string_view name) {
  for (const Attribute& attribute : attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

std::string attribute_text(const std::vector<Attribute>& attributes, std::string_view name) {
  const Attribute* attribute = find_attribute(attributes, name);
  if (attribute == nullptr) return {};
  const std::string& text = attribute->text;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::optional<double> attribute_number(const std::vector<Attribute>& attributes, std::string_view name) {
  const Attribute* attribute = find_attribute(attributes, name);
  if (attribute == nullptr || attribute->numbers.empty()) return std::nullopt;
  return attribute->numbers.front();
}

std::string attributes_to_json(const std::vector<Attribute>& attributes) {
  auto object = nlohmann::ordered_json::object();
  for (const Attribute& attribute : attributes) object[attribute.name] = attribute_to_json(attribute);
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool multiply_sizes(std::uint64_t& product, std::uint64_t factor) {
  if (__builtin_mul_overflow(product, factor, &product)) return false;
  return product <= 1ULL << 62U;
}

}  // namespace nvmdb::ingest::netcdf
