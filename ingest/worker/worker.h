#pragma once

#include "ingest/decode/field_sink.h"

namespace nvmdb::ingest {

/// Descriptors that the server leaves open in a worker.
constexpr int kChannelDescriptor = 3;
constexpr int kRingDescriptor = 4;

/// What a worker decodes with.
struct Decoders {
  Status (*grib)(int fd, const DecodeLimits& limits, FieldSink& sink);
  Status (*netcdf)(int fd, const DecodeLimits& limits, FieldSink& sink);
  void (*warm_up)();
};

/// The whole life of a worker process: limits, sandbox, warm-up, then one job after the other until the
/// server closes the channel. Returns the exit status.
[[nodiscard]] int run_worker(int argument_count, char** arguments, const Decoders& decoders);

}  // namespace nvmdb::ingest
