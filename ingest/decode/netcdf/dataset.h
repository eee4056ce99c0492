#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nvmdb::ingest::netcdf {

/// Types of netCDF values. String is the variable-length text of NetCDF-4.
enum class ValueType : std::uint8_t {
  Int8,
  Char,
  Int16,
  Int32,
  Float32,
  Float64,
  Uint8,
  Uint16,
  Uint32,
  Int64,
  Uint64,
  String,
  Unsupported,
};
/// Bytes of one value in a file; 0 for String and Unsupported.
[[nodiscard]] std::uint32_t value_bytes(ValueType type);
[[nodiscard]] std::string_view value_type_name(ValueType type);
/// True for what can be stored as a field.
[[nodiscard]] bool is_numeric(ValueType type);

struct Dimension {
  std::string name;
  std::uint64_t size = 0;
  bool unlimited = false;
};

struct Attribute {
  std::string name;
  ValueType type = ValueType::Char;
  std::string text;             ///< of Char and String, without trailing NUL bytes
  std::vector<double> numbers;  ///< of numeric types; integers beyond 2^53 are rounded
};

struct Variable {
  std::string name;
  ValueType type = ValueType::Float32;
  std::vector<std::uint32_t> dimensions;  ///< indices into Dataset::dimensions, slowest first
  std::vector<Attribute> attributes;
  std::string unreadable;  ///< why the values cannot be read; empty when they can
};

/// What the header of a NetCDF file says.
struct Dataset {
  std::vector<Dimension> dimensions;
  std::vector<Attribute> attributes;
  std::vector<Variable> variables;

  [[nodiscard]] const Variable* find_variable(std::string_view name) const;
  [[nodiscard]] std::uint32_t index_of(const Variable& variable) const;
  /// Product of the dimension sizes from `first` on. The reader has checked that it does not overflow.
  [[nodiscard]] std::uint64_t elements(const Variable& variable, std::size_t first = 0) const;
};

[[nodiscard]] const Attribute* find_attribute(const std::vector<Attribute>& attributes,
                                              std::string_view name);
/// Text of an attribute without blanks at its ends; empty when there is none.
[[nodiscard]] std::string attribute_text(const std::vector<Attribute>& attributes, std::string_view name);
/// First number of an attribute.
[[nodiscard]] std::optional<double> attribute_number(const std::vector<Attribute>& attributes,
                                                     std::string_view name);
/// JSON object of all attributes in file order: text as text, one number as a number, several as an array,
/// each number as the shortest decimal that reads back. Very long texts and arrays are cut.
[[nodiscard]] std::string attributes_to_json(const std::vector<Attribute>& attributes);

/// Multiplies sizes. Returns false when the product exceeds 2^62.
[[nodiscard]] bool multiply_sizes(std::uint64_t& product, std::uint64_t factor);

}  // namespace nvmdb::ingest::netcdf
