#include "tests/support/fields/field_fixture.h"

namespace nvmdb::test {

Result<Stack> Stack::open(storage::PoolMedia& media) {
  engine::DatabaseOptions options;
  options.dram_bytes = 64ULL << 20U;
  options.recovery_threads = 1;
  options.log.streams = 2;
  options.log.log_bytes_max = 16ULL << 20U;
  options.log.writer_threads = false;
  return open(media, options, {});
}

Result<Stack> Stack::open(storage::PoolMedia& media, const engine::DatabaseOptions& options,
                          const std::vector<engine::TableSpec>& more_tables) {
  std::vector<engine::TableSpec> tables = engine::Catalogue::tables();
  tables.insert(tables.end(), more_tables.begin(), more_tables.end());
  Stack stack;
  NVMDB_ASSIGN(stack.database, engine::Database::open(media, tables, options));
  stack.catalogue = std::make_unique<engine::Catalogue>(*stack.database);
  stack.store = std::make_unique<engine::FieldStore>(*stack.database, *stack.catalogue);
  NVMDB_TRY(stack.store->recover());
  return stack;
}

met::Grid small_grid(std::uint32_t columns, std::uint32_t rows) {
  met::Grid grid;
  grid.type = met::GridType::RegularLatLon;
  grid.columns = columns;
  grid.rows = rows;
  grid.points = std::uint64_t{columns} * rows;
  grid.first_latitude = 60;
  grid.last_latitude = 40;
  grid.first_longitude = 0;
  grid.last_longitude = 20;
  grid.column_step = 20.0 / (columns - 1);
  grid.row_step = 20.0 / (rows - 1);
  return grid;
}

met::Grid small_curvilinear_grid(std::uint32_t columns, std::uint32_t rows, float west) {
  met::Grid grid;
  grid.type = met::GridType::Curvilinear;
  grid.columns = columns;
  grid.rows = rows;
  grid.points = std::uint64_t{columns} * rows;
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t column = 0; column < columns; ++column) {
      grid.latitudes.push_back(20.0F + 0.1F * static_cast<float>(row));
      grid.longitudes.push_back(west + 0.1F * static_cast<float>(column));
    }
  }
  return grid;
}

std::vector<float> numbered_values(std::uint64_t count, float base) {
  std::vector<float> values(count);
  for (std::uint64_t i = 0; i < count; ++i) values[i] = base + static_cast<float>(i);
  return values;
}

Status put_field(engine::RunWriter& writer, engine::GridId grid, std::uint64_t points, const FieldSpec& spec) {
  engine::FieldHeader header;
  header.member = spec.member;
  header.parameter.short_name = spec.parameter;
  header.parameter.units = "K";
  header.parameter.origin = "wrf";
  header.level = {"surface", spec.level, spec.level};
  header.step = met::Step::instant(spec.step_seconds);
  header.grid = grid;
  header.points = points;
  NVMDB_TRY(writer.begin_field(header));
  const std::vector<float> values = numbered_values(points, spec.base);
  const ByteSpan bytes = std::as_bytes(std::span(values));
  const std::size_t half = bytes.size() / 2 / 8 * 8;
  NVMDB_TRY(writer.write(0, bytes.first(half)));
  NVMDB_TRY(writer.write(half, bytes.subspan(half)));
  return writer.end_field({values.front(), values.back(), (values.front() + values.back()) / 2, 0});
}

engine::RunDescription described_run(const std::string& model, std::int64_t reference_time) {
  engine::RunDescription run;
  run.key = {model, "d01", reference_time, ""};
  run.format = "wrf";
  return run;
}

Result<std::shared_ptr<const engine::FieldColumn>> checked_column(Stack& stack, const engine::ReadView& view,
                                                                  engine::RunId run, const std::string& parameter,
                                                                  double level) {
  NVMDB_ASSIGN(const std::vector<engine::ParameterId> ids, stack.catalogue->parameters_named(parameter));
  if (ids.empty()) return Status::not_found("no parameter " + parameter);
  NVMDB_ASSIGN(const engine::LevelTypeId type, stack.catalogue->find_level_type("surface"));
  NVMDB_ASSIGN(auto column, stack.store->column(view, {run, 0, ids[0], type, level, level}));
  for (const engine::FieldRef& field : column->fields) NVMDB_TRY(stack.store->verify(view, field));
  return column;
}

}  // namespace nvmdb::test
