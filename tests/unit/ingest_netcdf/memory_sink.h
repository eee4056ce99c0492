#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ingest/decode/field_sink.h"

namespace nvmdb::ingest {

struct StoredField {
  DecodedField header;
  DecodedStatistics statistics;
  Bytes extent;
  std::vector<float> values;  ///< through met::Decoder
};

struct StoredRejection {
  std::string where;
  Status why;
};

/// Keeps everything that a decoder hands over, and checks that it keeps the contract of FieldSink. Gives
/// space in small portions, so that fields go over several of them.
class MemorySink final : public FieldSink {
 public:
  ~MemorySink() override { std::free(portion_); }

  Result<std::uint32_t> run(const DecodedRun& run) override;
  Result<std::uint32_t> grid(const met::Grid& grid) override;
  Status begin_field(const DecodedField& field) override;
  Result<std::span<std::byte>> space(std::uint64_t wanted) override;
  Status advance(std::uint64_t bytes) override;
  Status end_field(const DecodedStatistics& statistics) override;
  Status cancel_field() override;
  Status rejected(const std::string& where, const Status& why) override;
  Status step_done(std::uint32_t run, std::int64_t end_seconds) override;

  /// The field of a name, step and level; nullptr when there is none.
  [[nodiscard]] const StoredField* find(const std::string& name, std::int64_t step_seconds,
                                        double level = 0) const;
  [[nodiscard]] const met::Grid& grid_of(const StoredField& field) const { return grids[field.header.grid]; }
  [[nodiscard]] bool was_rejected(const std::string& where) const;

  std::vector<DecodedRun> runs;
  std::vector<met::Grid> grids;
  std::vector<StoredField> fields;
  std::vector<StoredRejection> rejections;
  std::vector<std::int64_t> steps_done;
  std::string broken_contract;  ///< empty when the decoder kept it

 private:
  void expect(bool condition, const std::string& what);

  static constexpr std::uint64_t kPortion = 256 << 10U;
  void* portion_ = nullptr;
  std::uint64_t given_ = 0;
  bool odd_size_seen_ = false;
  std::optional<StoredField> open_;
};

/// An open file that is removed and closed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name);
  TemporaryFile(const std::string& name, ByteSpan bytes);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Opens, decodes, closes.
[[nodiscard]] Status decode_path(const std::filesystem::path& path, MemorySink& sink,
                                 const DecodeLimits& limits = {});
[[nodiscard]] Bytes read_file(const std::filesystem::path& path);

/// Folder of the shared test data: NVMDB_SHARED_DATA, else shared/data beside the source tree or a parent of
/// it; empty when there is none.
[[nodiscard]] std::filesystem::path shared_data();

#define NVMDB_NEED_SHARED_DATA() \
  if (shared_data().empty())     \
  GTEST_SKIP() << "the shared data (given/, expected/) is absent: set NVMDB_SHARED_DATA to its folder"

}  // namespace nvmdb::ingest
