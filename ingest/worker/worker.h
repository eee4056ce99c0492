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
  /// Loads one part, numbered from 0, of what the libraries load lazily; false when there is no such part.
  bool (*warm_up)(std::size_t part);
};

/// The whole life of a worker process: limits, sandbox, then one job after the other until the server closes
/// the channel. Warms up while no job waits. Returns the exit status.
[[nodiscard]] int run_worker(int argument_count, char** arguments, const Decoders& decoders);

}  // namespace nvmdb::ingest
