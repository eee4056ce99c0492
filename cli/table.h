#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/arguments.h"
#include "cli/output.h"
#include "storage/base/status.h"

namespace nvmdb::cli {

/// A value of a listing; monostate is missing.
using Cell = std::variant<std::monostate, std::string, std::uint64_t, std::int64_t, double>;

/// A listing: named columns and rows. Text aligns columns for people, CSV has a header line, JSON is an array
/// of objects.
class Table {
 public:
  explicit Table(std::vector<std::string> columns) : columns_(std::move(columns)) {}
  /// As many cells as columns.
  void add(std::vector<Cell> row);
  [[nodiscard]] Status write(Format format, Output& output) const;

 private:
  [[nodiscard]] Status write_text(Output& output) const;
  [[nodiscard]] Status write_csv(Output& output) const;
  [[nodiscard]] Status write_json(Output& output) const;

  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// A JSON object on a line of its own, built member by member.
class JsonLine {
 public:
  JsonLine& add(std::string_view name, const Cell& cell);
  [[nodiscard]] std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

[[nodiscard]] std::string cell_text(const Cell& cell);

}  // namespace nvmdb::cli
