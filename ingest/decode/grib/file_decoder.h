#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "ingest/decode/field_sink.h"
#include "ingest/decode/grib/field_values.h"
#include "ingest/decode/grib/grid_reader.h"
#include "ingest/decode/grib/header_memo.h"
#include "ingest/decode/grib/lazy_handle.h"
#include "ingest/decode/grib/message_scanner.h"
#include "ingest/decode/grib/sections.h"
#include "storage/base/result.h"

namespace nvmdb::ingest::grib {

/// Decodes the messages of one file into a sink.
/// Threads: one.
class FileDecoder {
 public:
  /// `memo` outlives it and may know headers of earlier files.
  FileDecoder(ByteSpan file, const DecodeLimits& limits, HeaderMemo& memo, FieldSink& sink)
      : file_(file), limits_(limits), memo_(memo), sink_(sink), scanner_(file) {}

  /// Errors: InvalidArgument (no message at all, too many fields), those of the sink. Messages that cannot be
  /// decoded are rejected one by one.
  [[nodiscard]] Status run();

 private:
  /// A grid that this file has used, and the sink's number for it once it has one.
  struct KnownGrid {
    FieldGrid grid;
    std::optional<std::uint32_t> number;
  };
  struct Prepared {
    DecodedRun run;
    DecodedField field;
    FieldValues values;
    KnownGrid* grid = nullptr;
  };

  [[nodiscard]] Status decode_message(const ScannedMessage& message, const std::string& where);
  /// Everything that can fail because of the message.
  [[nodiscard]] Result<Prepared> prepare(const FieldSections& sections);
  /// Everything that can fail because of the sink.
  [[nodiscard]] Status deliver(Prepared& prepared);
  [[nodiscard]] Result<KnownGrid*> find_grid(const FieldSections& sections, LazyHandle& handle,
                                             std::uint64_t points);
  /// Parameter, level, member and times of the field; the run but for its domain.
  [[nodiscard]] Status read_header(const FieldSections& sections, LazyHandle& handle, Prepared& out);
  void keep_domains_apart(FieldGrid& grid);

  ByteSpan file_;
  const DecodeLimits& limits_;
  HeaderMemo& memo_;
  FieldSink& sink_;
  MessageScanner scanner_;
  std::uint64_t fields_ = 0;
  std::map<std::string, KnownGrid> grids_;           ///< by the bytes of the grid section
  std::map<std::string, std::string> domain_areas_;  ///< domain name -> the area it was first used for
};

}  // namespace nvmdb::ingest::grib
