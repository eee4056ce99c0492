#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ingest/decode/field_sink.h"

namespace nvmdb::ingest::testing {

struct KeptField {
  DecodedField field;
  Bytes extent;
  DecodedStatistics statistics;

  [[nodiscard]] std::vector<float> decode() const {
    std::vector<float> values(field.points);
    met::Decoder(field.encoding, field.points, extent).run(0, values);
    return values;
  }
};

struct Rejected {
  std::string where;
  Status why;
};

/// Keeps everything, and breaks off the program when the decoder breaks the rules of FieldSink.
class MemorySink final : public FieldSink {
 public:
  /// Spaces of `space_bytes` make fields cross borders of spaces.
  explicit MemorySink(std::size_t space_bytes = 256U << 10U) : space_bytes_(space_bytes) {}

  Result<std::uint32_t> run(const DecodedRun& run) override { return number_of(runs, run); }
  Result<std::uint32_t> grid(const met::Grid& grid) override {
    definitions_.resize(grids.size());
    const Bytes definition = grid.encode_definition();
    for (std::uint32_t i = 0; i < definitions_.size(); ++i) {
      if (definitions_[i] == definition) return i;
    }
    definitions_.push_back(definition);
    grids.push_back(grid);
    return static_cast<std::uint32_t>(grids.size() - 1);
  }
  Status begin_field(const DecodedField& field) override {
    NVMDB_CHECK(!open_, "a field is open");
    NVMDB_CHECK(field.run < runs.size() && field.grid < grids.size(), "unknown run or grid");
    open_ = true;
    fields.push_back({field, {}, {}});
    return Status::ok();
  }
  Result<std::span<std::byte>> space(std::uint64_t wanted) override {
    space_.assign(std::min<std::uint64_t>(wanted, space_bytes_), std::byte{0xee});
    return std::span(space_);
  }
  Status advance(std::uint64_t bytes) override {
    NVMDB_CHECK(open_ && bytes <= space_.size(), "more bytes than the space has");
    KeptField& field = fields.back();
    field.extent.insert(field.extent.end(), space_.begin(),
                        space_.begin() + static_cast<std::ptrdiff_t>(bytes));
    const std::uint64_t whole = field.field.encoding.extent_bytes(field.field.points);
    NVMDB_CHECK(bytes % 8 == 0 || field.extent.size() == whole, "not a multiple of 8 bytes");
    return Status::ok();
  }
  Status end_field(const DecodedStatistics& statistics) override {
    KeptField& field = fields.back();
    NVMDB_CHECK(field.extent.size() == field.field.encoding.extent_bytes(field.field.points),
                "a partial extent");
    field.statistics = statistics;
    open_ = false;
    return Status::ok();
  }
  Status cancel_field() override {
    fields.pop_back();
    open_ = false;
    return Status::ok();
  }
  Status rejected(const std::string& where, const Status& why) override {
    rejections.push_back({where, why});
    return Status::ok();
  }
  Status step_done(std::uint32_t /*run*/, std::int64_t /*end_seconds*/) override { return Status::ok(); }

  std::vector<DecodedRun> runs;
  std::vector<met::Grid> grids;
  std::vector<KeptField> fields;
  std::vector<Rejected> rejections;

 private:
  template <class T>
  Result<std::uint32_t> number_of(std::vector<T>& known, const T& item) {
    for (std::uint32_t i = 0; i < known.size(); ++i) {
      if (known[i] == item) return i;
    }
    known.push_back(item);
    return static_cast<std::uint32_t>(known.size() - 1);
  }

  std::size_t space_bytes_;
  std::vector<std::byte> space_;
  std::vector<Bytes> definitions_;
  bool open_ = false;
};

}  // namespace nvmdb::ingest::testing
