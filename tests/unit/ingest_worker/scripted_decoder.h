#pragma once

#include "ingest/decode/field_sink.h"

namespace nvmdb::ingest {

/// A decoder for tests of the worker: the file is a list of commands, one per line, after the line
/// kScriptHeader. Only worker binaries of the tests have it. Commands:
///   run MODEL REFERENCE_SECONDS       announces a run
///   grid COLUMNS ROWS                 announces a regular grid
///   field NAME STEP_SECONDS FIRST     a Float32 field on the newest run and grid: FIRST, FIRST + 1, ...
///   step SECONDS                      step_done
///   reject TEXT                       a rejection of damage
///   fail TEXT                         ends with Corruption
///   signal N | spin | allocate BYTES  crashes, hangs, asks for memory and touches it
///   wait PATH                         waits until the size of the file PATH is 0
///   packet HEX                        sends raw bytes to the server
///   piece POSITION BYTES              claims bytes of the ring
///   try WHAT PATH                     tries what a decoder may not do, and rejects with "allowed" or the
///   error
[[nodiscard]] bool is_script(int fd);
[[nodiscard]] Status run_script(int fd, FieldSink& sink);

inline constexpr const char* kScriptHeader = "GRIB script\n";

}  // namespace nvmdb::ingest
