#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ingest/jobs/reply_reader.h"

namespace nvmdb::ingest {

/// Keeps what a job brought, and stops the test when something comes through that a handler may rely on not
/// to.
class RecordedReply final : public ReplyHandler {
 public:
  struct StoredField {
    DecodedField field;
    Bytes bytes;
    DecodedStatistics statistics;
  };

  Status run(std::uint32_t number, DecodedRun run) override {
    NVMDB_CHECK(number == runs.size(), "runs count up");
    runs.push_back(std::move(run));
    return Status::ok();
  }
  Status grid(std::uint32_t number, met::Grid grid) override {
    NVMDB_CHECK(number == grids.size() && grid.validate().is_ok(), "grids count up and are valid");
    grids.push_back(std::move(grid));
    return Status::ok();
  }
  Status begin_field(const DecodedField& field) override {
    NVMDB_CHECK(!open && field.run < runs.size() && grids.at(field.grid).points == field.points,
                "fields fit");
    NVMDB_CHECK(field.encoding.validate().is_ok(), "encodings are valid");
    open = true;
    current = {field, {}, {}};
    return Status::ok();
  }
  Status field_bytes(std::uint64_t at, ByteSpan bytes) override {
    NVMDB_CHECK(open && at == current.bytes.size(), "bytes come in order");
    current.bytes.insert(current.bytes.end(), bytes.begin(), bytes.end());
    return Status::ok();
  }
  Status end_field(const DecodedStatistics& statistics) override {
    NVMDB_CHECK(open && current.bytes.size() == current.field.encoding.extent_bytes(current.field.points),
                "whole");
    open = false;
    current.statistics = statistics;
    fields.push_back(std::move(current));
    return Status::ok();
  }
  Status cancel_field() override {
    NVMDB_CHECK(open, "only an open field can be cancelled");
    open = false;
    return Status::ok();
  }
  Status rejected(const std::string& where, const Status& why) override {
    rejections.emplace_back(where, why);
    return Status::ok();
  }
  Status step_done(std::uint32_t run, std::int64_t end_seconds) override {
    NVMDB_CHECK(!open && run < runs.size(), "steps end between fields");
    steps.emplace_back(run, end_seconds);
    return Status::ok();
  }

  std::vector<DecodedRun> runs;
  std::vector<met::Grid> grids;
  std::vector<StoredField> fields;
  std::vector<std::pair<std::string, Status>> rejections;
  std::vector<std::pair<std::uint32_t, std::int64_t>> steps;
  bool open = false;
  StoredField current;
};

}  // namespace nvmdb::ingest
