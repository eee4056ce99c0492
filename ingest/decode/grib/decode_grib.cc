#include <eccodes.h>

#include <cstddef>
#include <vector>

#include "ingest/decode/field_sink.h"
#include "ingest/decode/file_image.h"
#include "ingest/decode/grib/file_decoder.h"
#include "ingest/decode/grib/handle.h"

namespace nvmdb::ingest {
namespace {

/// Takes fields and forgets them.
class ForgetfulSink final : public FieldSink {
 public:
  Result<std::uint32_t> run(const DecodedRun& /*run*/) override { return std::uint32_t{0}; }
  Result<std::uint32_t> grid(const met::Grid& /*grid*/) override { return std::uint32_t{0}; }
  Status begin_field(const DecodedField& /*field*/) override { return Status::ok(); }
  Result<std::span<std::byte>> space(std::uint64_t wanted) override {
    space_.resize(wanted);
    return std::span(space_);
  }
  Status advance(std::uint64_t /*bytes*/) override { return Status::ok(); }
  Status end_field(const DecodedStatistics& /*statistics*/) override { return Status::ok(); }
  Status cancel_field() override { return Status::ok(); }
  Status rejected(const std::string& /*where*/, const Status& /*why*/) override { return Status::ok(); }
  Status step_done(std::uint32_t /*run*/, std::int64_t /*end_seconds*/) override { return Status::ok(); }

 private:
  Bytes space_;
};

struct Example {
  const char* sample = "GRIB2";
  const char* centre = "ecmf";
  const char* packing = "grid_simple";
  long grid = -1;     ///< grid definition template; -1: as the sample has it
  long product = -1;  ///< product definition template; -1: as the sample has it
};

/// What real files use: each makes ecCodes read definitions that it has not read yet.
std::vector<Example> examples() {
  std::vector<Example> all;
  for (const char* sample :
       {"GRIB1", "polar_stereographic_pl_grib1", "reduced_gg_pl_32_grib1", "reduced_gg_pl_32_grib2"}) {
    all.push_back({.sample = sample});
  }
  for (const char* centre : {"kwbc", "edzw", "lfpw", "egrr", "rjtd", "babj", "cnmc"}) {
    all.push_back({.sample = "GRIB1", .centre = centre});
    all.push_back({.centre = centre});
  }
  for (const char* packing : {"grid_ccsds", "grid_ieee", "grid_jpeg", "grid_png", "grid_second_order",
                              "grid_complex", "grid_complex_spatial_differencing"}) {
    all.push_back({.packing = packing});
  }
  for (const long product : {0L, 1L, 2L, 5L, 6L, 8L, 9L, 10L, 11L, 12L, 32L, 40L}) {
    all.push_back({.centre = "kwbc", .product = product});
  }
  for (const long grid : {1L, 10L, 20L, 30L, 40L, 101L}) all.push_back({.centre = "kwbc", .grid = grid});
  return all;
}

void decode_message(codes_handle* handle) {
  const void* message = nullptr;
  std::size_t size = 0;
  if (codes_get_message(handle, &message, &size) != CODES_SUCCESS) return;
  ForgetfulSink sink;
  const DecodeLimits limits;
  const ByteSpan bytes(static_cast<const std::byte*>(message), size);
  // Which examples this build of ecCodes can make and read again does not matter.
  grib::HeaderMemo memo;
  static_cast<void>(grib::FileDecoder(bytes, limits, memo, sink).run().is_ok());
}

void decode_example(const Example& example) {
  codes_handle* handle = codes_grib_handle_new_from_samples(nullptr, example.sample);
  if (handle == nullptr) return;
  std::size_t length = 0;
  codes_set_string(handle, "centre", example.centre, &length);
  if (example.product >= 0) codes_set_long(handle, "productDefinitionTemplateNumber", example.product);
  std::size_t count = 0;
  if (codes_get_size(handle, "values", &count) == CODES_SUCCESS) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = 270.0 + static_cast<double>(i % 97) / 7.0;
    codes_set_string(handle, "packingType", example.packing, &length);
    codes_set_double_array(handle, "values", values.data(), count);
  }
  if (example.grid >= 0) codes_set_long(handle, "gridDefinitionTemplateNumber", example.grid);
  decode_message(handle);
  codes_handle_delete(handle);
}

}  // namespace

Status decode_grib(int fd, const DecodeLimits& limits, FieldSink& sink) {
  grib::silence_eccodes();
  NVMDB_ASSIGN(const FileImage image, FileImage::map(fd));
  static grib::HeaderMemo memo;  // a worker reads many files of a run, one after another
  return grib::FileDecoder(image.bytes(), limits, memo, sink).run();
}

bool warm_up_grib(std::size_t part) {
  static const std::vector<Example> all = examples();
  if (part >= all.size()) return false;
  grib::silence_eccodes();
  codes_grib_multi_support_off(nullptr);
  decode_example(all[part]);
  return true;
}

}  // namespace nvmdb::ingest
