#include <gtest/gtest.h>
#include <hdf5.h>

#include <cmath>

#include "ingest/decode/netcdf/chunk_filters.h"
#include "storage/base/random.h"
#include "tests/unit/ingest_netcdf/netcdf_writer.h"

namespace nvmdb::ingest {
namespace {

struct Layout {
  const char* name;
  nc_type type;
  int endian;
  std::vector<std::size_t> chunk;  ///< empty: contiguous
  bool shuffle;
  int deflate;
  bool fletcher32;
};

constexpr std::size_t kFrames = 5;
constexpr std::size_t kLevels = 3;
constexpr std::size_t kRows = 37;
constexpr std::size_t kColumns = 29;

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all = {
      {"plain", NC_FLOAT, NC_ENDIAN_LITTLE, {}, false, 0, false},
      {"big_endian", NC_FLOAT, NC_ENDIAN_BIG, {}, false, 0, false},
      {"by_frame", NC_FLOAT, NC_ENDIAN_LITTLE, {1, kLevels, kRows, kColumns}, true, 4, false},
      {"frames_together", NC_FLOAT, NC_ENDIAN_LITTLE, {4, kLevels, kRows, kColumns}, true, 1, false},
      {"tiles", NC_FLOAT, NC_ENDIAN_LITTLE, {2, 2, 10, 11}, true, 9, true},
      {"big_tiles", NC_DOUBLE, NC_ENDIAN_BIG, {1, 1, 20, 29}, true, 3, true},
      {"checked", NC_INT, NC_ENDIAN_LITTLE, {3, 1, 7, 29}, false, 0, true},
      {"odd_width", NC_SHORT, NC_ENDIAN_BIG, {1, 3, 37, 5}, true, 2, false},
      {"bytes", NC_BYTE, NC_ENDIAN_NATIVE, {2, 3, 8, 8}, true, 2, true},
      {"wide", NC_INT64, NC_ENDIAN_LITTLE, {1, 3, 8, 8}, true, 2, false},
      {"unsigned", NC_UBYTE, NC_ENDIAN_NATIVE, {1, 3, 8, 8}, false, 2, false}};
  return all;
}

void write_layouts(const std::string& path) {
  NetcdfWriter file(path, NC_NETCDF4);
  const int time = file.dimension("Time", kFrames);
  const int levels = file.dimension("bottom_top", kLevels);
  const int rows = file.dimension("south_north", kRows);
  const int columns = file.dimension("west_east", kColumns);
  const int minutes = file.variable("XTIME", NC_FLOAT, {time});
  file.text(minutes, "units", "minutes since 2020-01-01 00:00:00");
  std::vector<int> numbers;
  for (const Layout& layout : layouts()) {
    const int number = file.variable(layout.name, layout.type, {time, levels, rows, columns});
    if (layout.chunk.empty()) {
      NetcdfWriter::must(nc_def_var_chunking(file.id(), number, NC_CONTIGUOUS, nullptr));
    } else {
      NetcdfWriter::must(nc_def_var_chunking(file.id(), number, NC_CHUNKED, layout.chunk.data()));
      NetcdfWriter::must(
          nc_def_var_deflate(file.id(), number, layout.shuffle, layout.deflate > 0, layout.deflate));
      NetcdfWriter::must(
          nc_def_var_fletcher32(file.id(), number, layout.fletcher32 ? NC_FLETCHER32 : NC_NOCHECKSUM));
    }
    if (layout.endian != NC_ENDIAN_NATIVE)
      NetcdfWriter::must(nc_def_var_endian(file.id(), number, layout.endian));
    numbers.push_back(number);
  }
  file.end_definitions();
  file.values(minutes, std::vector<float>{0, 60, 120, 180, 240});
  SeededRandom random(7);
  std::vector<double> values(kFrames * kLevels * kRows * kColumns);
  for (const int number : numbers) {
    for (double& value : values) value = static_cast<double>(random.below(1000)) / 8.0;
    NetcdfWriter::must(nc_put_var_double(file.id(), number, values.data()));
  }
}

TEST(Hdf5Storage, EveryLayoutReadsAsTheNetcdfLibraryReadsIt) {
  const TemporaryFile path("layouts.nc");
  write_layouts(path.path());
  MemorySink sink;
  ASSERT_TRUE(decode_path(path.path(), sink).is_ok());
  EXPECT_EQ(sink.broken_contract, "");
  EXPECT_EQ(sink.rejections.size(), 0U);
  int id = -1;
  ASSERT_EQ(nc_open(path.path().c_str(), NC_NOWRITE, &id), NC_NOERR);
  constexpr std::size_t kPlane = kRows * kColumns;
  for (const Layout& layout : layouts()) {
    int number = -1;
    std::vector<float> wanted(kFrames * kLevels * kPlane);
    ASSERT_EQ(nc_inq_varid(id, layout.name, &number), NC_NOERR);
    ASSERT_EQ(nc_get_var_float(id, number, wanted.data()), NC_NOERR);
    for (std::size_t i = 0; i < kFrames * kLevels; ++i) {
      const StoredField* field = sink.find(layout.name, static_cast<std::int64_t>(i / kLevels) * 3600,
                                           static_cast<double>(i % kLevels + 1));
      ASSERT_NE(field, nullptr) << layout.name;
      const std::vector<float> plane(wanted.begin() + static_cast<std::ptrdiff_t>(i * kPlane),
                                     wanted.begin() + static_cast<std::ptrdiff_t>((i + 1) * kPlane));
      EXPECT_EQ(field->values, plane) << layout.name << ", field " << i;
    }
  }
  nc_close(id);
}

TEST(Hdf5Storage, DamagedChunkRejectsItsFieldsOnly) {
  const TemporaryFile path("layouts.nc");
  write_layouts(path.path());
  const hid_t file = H5Fopen(path.path().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, "by_frame", H5P_DEFAULT);
  const hid_t space = H5Dget_space(dataset);
  haddr_t address = 0;
  hsize_t size = 0;
  hsize_t offset[4] = {};
  unsigned mask = 0;
  ASSERT_GE(H5Dget_chunk_info(dataset, space, 1, offset, &mask, &address, &size), 0);
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
  Bytes bytes = read_file(path.path());
  for (std::size_t i = 20; i < 60; ++i) bytes[address + i] ^= std::byte{0x5A};
  const TemporaryFile damaged("damaged.nc", bytes);
  MemorySink whole;
  MemorySink sink;
  ASSERT_TRUE(decode_path(path.path(), whole).is_ok());
  ASSERT_TRUE(decode_path(damaged.path(), sink).is_ok());
  EXPECT_EQ(sink.broken_contract, "");
  EXPECT_EQ(sink.fields.size(), whole.fields.size() - kLevels);
  EXPECT_TRUE(sink.was_rejected("variable by_frame, frame " + std::to_string(offset[0])));
}

TEST(Hdf5Storage, SzipIsReadByTheLibrary) {
  if (H5Zfilter_avail(H5Z_FILTER_SZIP) <= 0) GTEST_SKIP() << "this libhdf5 has no szip";
  const TemporaryFile path("szip.nc");
  const hid_t file = H5Fcreate(path.path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t size[] = {40, 30};
  const hsize_t chunk[] = {16, 16};
  const hid_t space = H5Screate_simple(2, size, nullptr);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 2, chunk);
  if (H5Pset_szip(creation, H5_SZIP_NN_OPTION_MASK, 8) < 0)
    GTEST_SKIP() << "this libhdf5 does not write szip";
  std::vector<float> values(1200);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  const hid_t dataset = H5Dcreate2(file, "T2", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Dclose(dataset);
  H5Pclose(creation);
  H5Sclose(space);
  H5Fclose(file);
  MemorySink sink;
  ASSERT_TRUE(decode_path(path.path(), sink).is_ok());
  ASSERT_EQ(sink.fields.size(), 1U);
  EXPECT_EQ(sink.fields[0].values, values);
}

TEST(Hdf5Storage, NeverWrittenFramesAreNotServed) {
  const TemporaryFile path("short.nc");
  {
    NetcdfWriter file(path.path(), NC_NETCDF4);
    const int time = file.dimension("Time", NC_UNLIMITED);
    const int rows = file.dimension("south_north", 2);
    const int columns = file.dimension("west_east", 2);
    const int minutes = file.variable("XTIME", NC_FLOAT, {time});
    file.text(minutes, "units", "minutes since 2020-01-01 00:00:00");
    const int value = file.variable("T2", NC_FLOAT, {time, rows, columns});
    file.end_definitions();
    file.records(minutes, 0, {2}, std::vector<float>{0, 60});
    file.records(value, 0, {1, 2, 2}, std::vector<float>{1, 2, 3, 4});
  }
  MemorySink sink;
  ASSERT_TRUE(decode_path(path.path(), sink).is_ok());
  EXPECT_EQ(sink.steps_done, std::vector<std::int64_t>{0});
  EXPECT_TRUE(sink.was_rejected("frame 1"));
  EXPECT_EQ(sink.find("T2", 3600), nullptr);
}

TEST(ChunkFilters, UnshuffleUndoesShuffling) {
  SeededRandom random(3);
  for (const std::uint32_t width : {1U, 2U, 4U, 8U}) {
    for (const std::size_t values : {1U, 31U, 32U, 33U, 1000U}) {
      Bytes original(values * width + 3 % width);
      for (std::byte& byte : original) byte = static_cast<std::byte>(random.below(256));
      Bytes shuffled = original;
      for (std::size_t i = 0; i < values; ++i) {
        for (std::size_t k = 0; k < width; ++k) shuffled[k * values + i] = original[i * width + k];
      }
      Bytes back(original.size());
      netcdf::unshuffle(shuffled, back, width);
      EXPECT_EQ(back, original) << width << " x " << values;
    }
  }
}

}  // namespace
}  // namespace nvmdb::ingest
