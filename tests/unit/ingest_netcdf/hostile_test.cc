// Goal: no input makes the classic reader crash or lets an HDF5 file reach beyond itself.
// Method: files that refer to other files, made with libhdf5; declared sizes without bytes; seeded mutations
// and every truncation of a good header, decoded in this process.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <fstream>

#include "storage/base/random.h"
#include "tests/unit/ingest_netcdf/netcdf_writer.h"

namespace nvmdb::ingest {
namespace {

/// An HDF5 file to which `add` adds something bad.
template <class Add>
Status decode_hdf5_with(const Add& add, MemorySink& sink) {
  const TemporaryFile file("evil.nc");
  const hid_t id = H5Fcreate(file.path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  add(id);
  H5Fclose(id);
  return decode_path(file.path(), sink);
}

void expect_refused(const Status& status, const MemorySink& sink, const char* word) {
  EXPECT_EQ(status.code(), Code::InvalidArgument) << status.to_string();
  EXPECT_NE(status.message().find(word), std::string::npos) << status.to_string();
  EXPECT_TRUE(sink.fields.empty());
}

TEST(Hdf5Refusal, ExternalStorage) {
  MemorySink sink;
  const Status status = decode_hdf5_with(
      [](hid_t file) {
        const hsize_t size[] = {2, 4};
        const hid_t space = H5Screate_simple(2, size, nullptr);
        const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_external(creation, "/etc/passwd", 0, 32);
        H5Dclose(H5Dcreate2(file, "T2", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
        H5Pclose(creation);
        H5Sclose(space);
      },
      sink);
  expect_refused(status, sink, "external storage");
}

TEST(Hdf5Refusal, LinksThatAreNotHard) {
  MemorySink external;
  expect_refused(decode_hdf5_with(
                     [](hid_t file) {
                       H5Lcreate_external("/tmp/other.nc", "/T2", file, "T2", H5P_DEFAULT, H5P_DEFAULT);
                     },
                     external),
                 external, "external link");
  MemorySink nested;
  expect_refused(decode_hdf5_with(
                     [](hid_t file) {
                       const hid_t group = H5Gcreate2(file, "inner", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
                       H5Lcreate_soft("/T2", group, "alias", H5P_DEFAULT, H5P_DEFAULT);
                       H5Gclose(group);
                     },
                     nested),
                 nested, "soft link");
}

TEST(Hdf5Refusal, VirtualDatasets) {
  MemorySink sink;
  const Status status = decode_hdf5_with(
      [](hid_t file) {
        const hsize_t size[] = {4};
        const hid_t space = H5Screate_simple(1, size, nullptr);
        const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_virtual(creation, space, "/tmp/other.nc", "/T2", space);
        H5Dclose(H5Dcreate2(file, "T2", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
        H5Pclose(creation);
        H5Sclose(space);
      },
      sink);
  expect_refused(status, sink, "virtual dataset");
}

TEST(Hdf5Refusal, DeclaredSizeBomb) {
  MemorySink sink;
  const Status status = decode_hdf5_with(
      [](hid_t file) {
        const hsize_t size[] = {1000, 100'000, 100'000};
        const hsize_t chunk[] = {1, 1000, 1000};
        const hid_t space = H5Screate_simple(3, size, nullptr);
        const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_chunk(creation, 3, chunk);
        H5Pset_deflate(creation, 9);
        H5Dclose(H5Dcreate2(file, "T2", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
        H5Pclose(creation);
        H5Sclose(space);
      },
      sink);
  expect_refused(status, sink, "declares");
}

TEST(Hdf5Refusal, FilterThatIsNotKnownRejectsTheVariable) {
  MemorySink sink;
  const Status status = decode_hdf5_with(
      [](hid_t file) {
        const hsize_t size[] = {8, 8};
        const hid_t space = H5Screate_simple(2, size, nullptr);
        const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_chunk(creation, 2, size);
        H5Pset_scaleoffset(creation, H5Z_SO_INT, 0);
        H5Dclose(H5Dcreate2(file, "BAD", H5T_STD_I32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
        H5Pclose(creation);
        const hid_t good =
            H5Dcreate2(file, "GOOD", H5T_STD_I32BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        const std::vector<int> values(64, 5);
        H5Dwrite(good, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
        H5Dclose(good);
        H5Sclose(space);
      },
      sink);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_TRUE(sink.was_rejected("variable BAD"));
  EXPECT_EQ(sink.fields.size(), 1U);
  EXPECT_EQ(sink.fields[0].values, std::vector<float>(64, 5));
}

TEST(Hdf5Refusal, TruncatedFile) {
  const TemporaryFile good("good.nc");
  write_small_wrfout(good.path(), NC_NETCDF4);
  Bytes bytes = read_file(good.path());
  bytes.resize(bytes.size() * 2 / 3);
  const TemporaryFile cut("cut.nc", bytes);
  MemorySink sink;
  EXPECT_EQ(decode_path(cut.path(), sink).code(), Code::Corruption);
  EXPECT_TRUE(sink.fields.empty());
}

TEST(ClassicHostile, NamesWhatIsWrongAndWhere) {
  const TemporaryFile good("good.nc");
  write_small_wrfout(good.path(), 0);
  Bytes bytes = read_file(good.path());
  for (std::size_t i = 12; i < 16; ++i) bytes[i] = std::byte{0x7F};  // the number of dimensions
  const TemporaryFile bad("bad.nc", bytes);
  MemorySink sink;
  const Status status = decode_path(bad.path(), sink);
  EXPECT_EQ(status.code(), Code::Corruption);
  EXPECT_NE(status.message().find("number of dimensions"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("at byte"), std::string::npos);
}

TEST(ClassicHostile, DeclaredRecordsWithoutBytesAreRefusedOrRejected) {
  const TemporaryFile good("good.nc");
  write_small_wrfout(good.path(), 0);
  Bytes bytes = read_file(good.path());
  bytes[7] = std::byte{100};  // number of records
  const TemporaryFile bad("bad.nc", bytes);
  MemorySink sink;
  ASSERT_TRUE(decode_path(bad.path(), sink).is_ok());
  EXPECT_EQ(sink.steps_done.size(), 2U);
  EXPECT_FALSE(sink.rejections.empty());
  bytes[4] = std::byte{0x70};
  const TemporaryFile bomb("bomb.nc", bytes);
  MemorySink none;
  EXPECT_EQ(decode_path(bomb.path(), none).code(), Code::InvalidArgument);
}

TEST(ClassicHostile, EveryTruncationGivesWholeFramesOrAnError) {
  for (const int format : {0, NC_64BIT_OFFSET, NC_64BIT_DATA}) {
    const TemporaryFile good("good.nc");
    write_small_wrfout(good.path(), format);
    const Bytes bytes = read_file(good.path());
    MemorySink whole;
    ASSERT_TRUE(decode_path(good.path(), whole).is_ok());
    for (std::size_t size = 0; size < bytes.size(); size += 7) {
      const TemporaryFile cut("cut.nc", ByteSpan(bytes).first(size));
      MemorySink sink;
      const Status status = decode_path(cut.path(), sink);
      EXPECT_EQ(sink.broken_contract, "");
      EXPECT_TRUE(!status.is_ok() || !sink.rejections.empty()) << size << " of " << bytes.size();
      EXPECT_EQ(sink.fields.size(), sink.steps_done.size() * whole.fields.size() / 2);
      for (const StoredField& field : sink.fields) {
        const StoredField* twin = whole.find(field.header.parameter.short_name, field.header.step.end_seconds,
                                             field.header.level.value);
        ASSERT_NE(twin, nullptr);
        EXPECT_EQ(twin->extent, field.extent) << size;
      }
    }
  }
}

TEST(ClassicHostile, MutatedHeadersDoNotCrash) {
  constexpr std::uint64_t kSeed = 20240115;
  std::printf("seed %llu\n", static_cast<unsigned long long>(kSeed));
  SeededRandom random(kSeed);
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (const int format : {0, NC_64BIT_OFFSET, NC_64BIT_DATA}) {
    const TemporaryFile good("good.nc");
    write_small_wrfout(good.path(), format);
    const Bytes original = read_file(good.path());
    for (int round = 0; round < 1500; ++round) {
      Bytes bytes = original;
      // The header takes the first 1300 bytes or so; magic stays.
      for (std::uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
        constexpr std::uint8_t kTelling[] = {0, 1, 2, 0x7F, 0x80, 0xFF};
        bytes[4 + random.below(1300)] = std::byte{
            random.below(2) == 0 ? kTelling[random.below(6)] : static_cast<std::uint8_t>(random.below(256))};
      }
      const TemporaryFile mutant("mutant.nc", bytes);
      MemorySink sink;
      DecodeLimits limits;
      limits.fields_max = 2000;
      const Status status = decode_path(mutant.path(), sink, limits);
      EXPECT_EQ(sink.broken_contract, "") << "format " << format << ", round " << round;
      ++(status.is_ok() ? accepted : refused);
    }
  }
  std::printf("%zu accepted, %zu refused\n", accepted, refused);
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace nvmdb::ingest
