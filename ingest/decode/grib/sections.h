#pragma once

#include <cstdint>
#include <vector>

#include "ingest/decode/field_sink.h"
#include "ingest/decode/grib/message_scanner.h"
#include "storage/base/bytes.h"
#include "storage/base/result.h"

namespace nvmdb::ingest::grib {

/// The sections of one field, with their lengths checked against the message. Views into the message.
struct FieldSections {
  unsigned edition = 0;
  ByteSpan identification = {};  ///< GRIB2 section 1; of GRIB1 the product section holds it
  ByteSpan local = {};           ///< GRIB2 section 2, or empty
  ByteSpan grid = {};     ///< GRIB2 section 3, GRIB1 section 2 (empty: a grid that the centre predefined)
  ByteSpan product = {};  ///< GRIB2 section 4, GRIB1 section 1
  ByteSpan representation = {};  ///< GRIB2 section 5; of GRIB1 the data section holds it
  ByteSpan bitmap = {};          ///< GRIB2 section 6, GRIB1 section 3 (or empty)
  ByteSpan data = {};            ///< GRIB2 section 7, GRIB1 section 4
  ByteSpan message = {};         ///< the whole message
  bool alone = true;             ///< `message` holds this field only, with its own bitmap
};

/// Splits a message into its fields. A GRIB2 message may repeat sections 2 to 7, 3 to 7 or 4 to 7; what is
/// not repeated holds on, and bitmap indicator 254 means the bitmap before. Errors: Corruption. Safe on
/// hostile input.
[[nodiscard]] Result<std::vector<FieldSections>> split_fields(const ScannedMessage& message);

/// A message of this field only, for a decoder that knows no multi-field messages (GRIB2).
[[nodiscard]] Bytes assemble_message(const FieldSections& sections);

/// Checks what a decoder would allocate by before it is asked: number of points against the limits and the
/// size of the file, counts inside sections against the sections' lengths. Returns the number of points; 0
/// when only the centre knows it (GRIB1 without a grid section). Errors: InvalidArgument (limits, spectral
/// coefficients), Corruption.
[[nodiscard]] Result<std::uint64_t> check_declared_sizes(const FieldSections& sections,
                                                         const DecodeLimits& limits,
                                                         std::uint64_t file_bytes);

}  // namespace nvmdb::ingest::grib
