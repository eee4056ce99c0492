#include "cli/table.h"

#include <algorithm>

#include "cli/number_text.h"
#include "storage/base/check.h"

namespace nvmdb::cli {
namespace {

/// Characters of UTF-8 text, which is what a terminal lays out.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

bool is_number(const Cell& cell) {
  return cell.index() >= 2;
}

void append_json_cell(std::string& out, const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) {
    out += "null";
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    append_json(out, *text);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    append_json_number(out, *real);
  } else {
    out += cell_text(cell);
  }
}

}  // namespace

std::string cell_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<std::uint64_t>(&cell)) return std::to_string(*number);
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&cell)) return number_text(*real);
  return {};
}

JsonLine& JsonLine::add(std::string_view name, const Cell& cell) {
  if (!members_.empty()) members_ += ", ";
  append_json(members_, name);
  members_ += ": ";
  append_json_cell(members_, cell);
  return *this;
}

void Table::add(std::vector<Cell> row) {
  NVMDB_CHECK(row.size() == columns_.size(), "a row needs as many cells as there are columns");
  rows_.push_back(std::move(row));
}

Status Table::write(Format format, Output& output) const {
  switch (format) {
    case Format::Text:
      return write_text(output);
    case Format::Csv:
      return write_csv(output);
    case Format::Json:
      return write_json(output);
    case Format::Netcdf:
      break;
  }
  return Status::invalid_argument("a listing cannot be written as netcdf; use text, csv or json");
}

Status Table::write_text(Output& output) const {
  std::vector<std::size_t> widths;
  for (const std::string& column : columns_) widths.push_back(width_of(column));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(cell_text(row[i])));
  }
  const auto line = [&](std::size_t column, const std::string& text, bool right, std::string& out) {
    const std::string blanks(widths[column] - width_of(text), ' ');
    if (column != 0) out += "  ";
    out += right ? blanks + text : text + blanks;
  };
  const auto finish_line = [&output](std::string& out) {
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
    return output.write(out);
  };
  std::string header;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    line(i, columns_[i], !rows_.empty() && is_number(rows_.front()[i]), header);
  }
  NVMDB_TRY(finish_line(header));
  for (const auto& row : rows_) {
    std::string out;
    for (std::size_t i = 0; i < row.size(); ++i) line(i, cell_text(row[i]), is_number(row[i]), out);
    NVMDB_TRY(finish_line(out));
  }
  return Status::ok();
}

Status Table::write_csv(Output& output) const {
  std::string header;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i != 0) header += ',';
    append_csv(header, columns_[i]);
  }
  NVMDB_TRY(output.write(header + '\n'));
  for (const auto& row : rows_) {
    std::string out;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i != 0) out += ',';
      append_csv(out, cell_text(row[i]));
    }
    NVMDB_TRY(output.write(out + '\n'));
  }
  return Status::ok();
}

Status Table::write_json(Output& output) const {
  std::string out = "[";
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    out += i == 0 ? "\n  " : ",\n  ";
    JsonLine line;
    for (std::size_t c = 0; c < columns_.size(); ++c) line.add(columns_[c], rows_[i][c]);
    out += line.text();
    NVMDB_TRY(output.write(out));
    out.clear();
  }
  return output.write(out + (rows_.empty() ? "]\n" : "\n]\n"));
}

}  // namespace nvmdb::cli
