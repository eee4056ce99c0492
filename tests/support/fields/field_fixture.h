#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/field_store.h"
#include "storage/base/result.h"

namespace nvmdb::test {

/// Database, catalogue and field store on one media, as a server has them.
struct Stack {
  std::unique_ptr<engine::Database> database;
  std::unique_ptr<engine::Catalogue> catalogue;
  std::unique_ptr<engine::FieldStore> store;

  Stack() = default;
  Stack(Stack&&) = default;
  /// What is built on another goes first.
  Stack& operator=(Stack&& other) noexcept {
    store.reset();
    catalogue.reset();
    database = std::move(other.database);
    catalogue = std::move(other.catalogue);
    store = std::move(other.store);
    return *this;
  }

  /// Opens everything on `media` and recovers it. Nothing runs in the background: same calls, same stores.
  [[nodiscard]] static Result<Stack> open(storage::PoolMedia& media);
  /// With other options, and tables beside those of the catalogue.
  [[nodiscard]] static Result<Stack> open(storage::PoolMedia& media, const engine::DatabaseOptions& options,
                                          const std::vector<engine::TableSpec>& more_tables);
};

/// A small regular grid.
[[nodiscard]] met::Grid small_grid(std::uint32_t columns, std::uint32_t rows);
/// A curvilinear grid with position arrays.
[[nodiscard]] met::Grid small_curvilinear_grid(std::uint32_t columns, std::uint32_t rows, float west);

/// Values that tell which field they belong to: value i is base + i.
[[nodiscard]] std::vector<float> numbered_values(std::uint64_t count, float base);

struct FieldSpec {
  std::string parameter = "T2";
  std::uint32_t member = 0;
  double level = 0;
  std::int64_t step_seconds = 0;
  float base = 0;
};

/// Puts a float32 field with numbered values. Does not commit.
[[nodiscard]] Status put_field(engine::RunWriter& writer, engine::GridId grid, std::uint64_t points, const FieldSpec& spec);

[[nodiscard]] engine::RunDescription described_run(const std::string& model, std::int64_t reference_time);

/// The column of a parameter at `surface`, checked by CRC.
[[nodiscard]] Result<std::shared_ptr<const engine::FieldColumn>> checked_column(Stack& stack, const engine::ReadView& view,
                                                                                engine::RunId run,
                                                                                const std::string& parameter,
                                                                                double level = 0);

}  // namespace nvmdb::test
