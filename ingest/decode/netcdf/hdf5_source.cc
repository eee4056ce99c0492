#include <algorithm>
#include <cstring>
#include <list>
#include <unordered_map>

#include "ingest/decode/netcdf/classic_header.h"
#include "ingest/decode/netcdf/hdf5_metadata.h"
#include "ingest/decode/netcdf/value_source.h"

namespace nvmdb::ingest::netcdf {
namespace {

/// Decoded chunks that are kept: so much that the chunks under one field, or under the frames that lie
/// together in a chunk, are decoded once.
constexpr std::uint64_t kCacheBytesMax = 512ULL << 20U;

struct CachedChunk {
  std::uint64_t key = 0;
  std::vector<std::byte> bytes;
};

/// How linear positions of a variable fall into its chunks.
struct ChunkPlace {
  std::uint64_t number = 0;  ///< of the chunk, row by row
  std::vector<hsize_t> origin;
  std::uint64_t element = 0;  ///< within the chunk
  std::uint64_t run = 0;      ///< values that follow one another both in the variable and in the chunk
};

ChunkPlace find_chunk(const Hdf5Storage& storage, std::uint64_t first) {
  const std::size_t rank = storage.extents.size();
  // Trailing axes that a chunk covers wholly are one run of memory with the axis before them.
  std::size_t axis = rank - 1;
  std::uint64_t inner = 1;
  while (axis > 0 && storage.chunk[axis] == storage.extents[axis]) inner *= storage.extents[axis--];
  ChunkPlace place;
  place.origin.assign(rank, 0);
  const std::uint64_t in_row = first % inner;
  std::uint64_t rest = first / inner;
  std::uint64_t chunk_stride = inner;
  std::uint64_t number_stride = 1;
  place.element = in_row;
  for (std::size_t i = axis + 1; i-- > 0;) {
    const std::uint64_t at = i == 0 ? rest : rest % storage.extents[i];
    if (i != 0) rest /= storage.extents[i];
    const std::uint64_t within = at % storage.chunk[i];
    place.origin[i] = at - within;
    place.element += within * chunk_stride;
    place.number += at / storage.chunk[i] * number_stride;
    chunk_stride *= storage.chunk[i];
    number_stride *= (storage.extents[i] + storage.chunk[i] - 1) / storage.chunk[i];
    if (i == axis)
      place.run = (std::min(storage.chunk[i] - within, storage.extents[i] - at)) * inner - in_row;
  }
  return place;
}

class Hdf5Source final : public ValueSource {
 public:
  Hdf5Source(int fd, std::uint64_t file_bytes, Handle file, Hdf5Metadata metadata)
      : fd_(fd), file_bytes_(file_bytes), file_(std::move(file)), storage_(std::move(metadata.storage)) {
    dataset_ = std::move(metadata.dataset);
    left_out_ = std::move(metadata.left_out);
  }

  [[nodiscard]] Status read(std::uint32_t variable, std::uint64_t first, std::span<std::byte> out) override;
  [[nodiscard]] bool is_big_endian(std::uint32_t variable) const override {
    return storage_[variable].big_endian;
  }
  [[nodiscard]] Status check_present(std::uint32_t variable, std::uint64_t first,
                                     std::uint64_t count) const override;
  [[nodiscard]] std::uint64_t frames_together(std::uint32_t variable) const override {
    const Hdf5Storage& storage = storage_[variable];
    return storage.kind == StorageKind::Chunked
               ? std::min(storage.chunk[0], std::max<hsize_t>(storage.extents[0], 1))
               : 1;
  }
  [[nodiscard]] Result<std::vector<std::string>> read_strings(std::uint32_t variable) override;
  [[nodiscard]] std::uint64_t frames_max() const override { return UINT64_MAX; }

 private:
  Result<const std::byte*> chunk(std::uint32_t variable, const ChunkPlace& place);
  Status load(std::uint32_t variable, const ChunkPlace& place, std::vector<std::byte>& bytes);
  Status load_by_library(std::uint32_t variable, const ChunkPlace& place, std::vector<std::byte>& bytes);
  void make_room(std::uint64_t bytes);
  static void fill(const Hdf5Storage& storage, std::span<std::byte> out);

  int fd_;
  std::uint64_t file_bytes_;
  Handle file_;
  std::vector<Hdf5Storage> storage_;
  ChunkDecoder decoder_;
  std::list<CachedChunk> chunks_;  ///< the last used first
  std::unordered_map<std::uint64_t, std::list<CachedChunk>::iterator> chunk_by_key_;
  std::vector<std::byte> spare_;  ///< memory of a chunk that was thrown out, for the next one
  std::uint64_t cached_bytes_ = 0;
};

void Hdf5Source::fill(const Hdf5Storage& storage, std::span<std::byte> out) {
  for (std::size_t i = 0; i + storage.fill.size() <= out.size(); i += storage.fill.size())
    std::copy(storage.fill.begin(), storage.fill.end(), out.begin() + static_cast<std::ptrdiff_t>(i));
}

Status Hdf5Source::read(std::uint32_t variable, std::uint64_t first, std::span<std::byte> out) {
  const Hdf5Storage& storage = storage_[variable];
  const std::uint64_t width = value_bytes(dataset_.variables[variable].type);
  if (storage.kind == StorageKind::Contiguous) {
    if (storage.address != HADDR_UNDEF)
      return read_exactly(fd_, storage.address + first * width, out.data(), out.size());
    fill(storage, out);
    return Status::ok();
  }
  while (!out.empty()) {
    const ChunkPlace place = find_chunk(storage, first);
    NVMDB_ASSIGN(const std::byte* values, chunk(variable, place));
    const std::uint64_t count = std::min<std::uint64_t>(place.run, out.size() / width);
    std::memcpy(out.data(), values + place.element * width, count * width);
    first += count;
    out = out.subspan(count * width);
  }
  return Status::ok();
}

Status Hdf5Source::check_present(std::uint32_t variable, std::uint64_t first, std::uint64_t count) const {
  if (count == 0) return Status::ok();
  const Hdf5Storage& storage = storage_[variable];
  std::uint64_t there = 1;
  for (const hsize_t extent : storage.extents) there *= extent;
  if (first + count > there)
    return Status::corruption("only " + std::to_string(storage.extents[0]) + " frames of variable " +
                              dataset_.variables[variable].name + " were written");
  const std::uint64_t end = (first + count) * value_bytes(dataset_.variables[variable].type);
  if (storage.kind == StorageKind::Contiguous && storage.address != HADDR_UNDEF &&
      (storage.address > file_bytes_ || end > file_bytes_ - storage.address))
    return Status::corruption("the file is truncated: values of variable " +
                              dataset_.variables[variable].name + " lie beyond its end");
  return Status::ok();
}

Result<const std::byte*> Hdf5Source::chunk(std::uint32_t variable, const ChunkPlace& place) {
  const std::uint64_t key = std::uint64_t{variable} << 44U | (place.number & ((1ULL << 44U) - 1));
  if (const auto found = chunk_by_key_.find(key); found != chunk_by_key_.end()) {
    chunks_.splice(chunks_.begin(), chunks_, found->second);
    return static_cast<const std::byte*>(found->second->bytes.data());
  }
  const Hdf5Storage& storage = storage_[variable];
  std::uint64_t bytes = value_bytes(dataset_.variables[variable].type);
  for (const hsize_t size : storage.chunk) bytes *= size;
  make_room(bytes);
  CachedChunk loaded{key, {}};
  loaded.bytes.swap(spare_);
  loaded.bytes.resize(bytes);
  NVMDB_TRY(load(variable, place, loaded.bytes));
  cached_bytes_ += bytes;
  chunks_.push_front(std::move(loaded));
  chunk_by_key_.emplace(key, chunks_.begin());
  return static_cast<const std::byte*>(chunks_.front().bytes.data());
}

void Hdf5Source::make_room(std::uint64_t bytes) {
  while (!chunks_.empty() && cached_bytes_ + bytes > kCacheBytesMax) {
    cached_bytes_ -= chunks_.back().bytes.size();
    spare_.swap(chunks_.back().bytes);
    chunk_by_key_.erase(chunks_.back().key);
    chunks_.pop_back();
  }
}

Status Hdf5Source::load(std::uint32_t variable, const ChunkPlace& place, std::vector<std::byte>& bytes) {
  const Hdf5Storage& storage = storage_[variable];
  if (storage.kind != StorageKind::Chunked) return load_by_library(variable, place, bytes);
  const std::uint64_t decoded_bytes = bytes.size();
  hsize_t stored_bytes = 0;
  if (H5Dget_chunk_storage_size(storage.dataset.get(), place.origin.data(), &stored_bytes) < 0)
    return Status::corruption("a chunk cannot be found: " + hdf5_error());
  if (stored_bytes == 0) {
    fill(storage, bytes);
    return Status::ok();
  }
  if (stored_bytes > file_bytes_)
    return Status::corruption("a chunk is said to take " + std::to_string(stored_bytes) +
                              " bytes in a file of " + std::to_string(file_bytes_));
  bytes.resize(stored_bytes);
  std::uint32_t skipped = 0;
  if (H5Dread_chunk(storage.dataset.get(), H5P_DEFAULT, place.origin.data(), &skipped, bytes.data()) < 0)
    return Status::corruption("a chunk cannot be read: " + hdf5_error());
  return decoder_.decode(storage.filters, skipped, value_bytes(dataset_.variables[variable].type),
                         decoded_bytes, bytes);
}

Status Hdf5Source::load_by_library(std::uint32_t variable, const ChunkPlace& place,
                                   std::vector<std::byte>& bytes) {
  const Hdf5Storage& storage = storage_[variable];
  const std::size_t rank = storage.extents.size();
  std::vector<hsize_t> count(rank);
  const std::vector<hsize_t> start(rank, 0);
  for (std::size_t i = 0; i < rank; ++i)
    count[i] = std::min(storage.chunk[i], storage.extents[i] - place.origin[i]);
  const Handle memory(H5Screate_simple(static_cast<int>(rank), storage.chunk.data(), nullptr), H5Sclose);
  const Handle file(H5Dget_space(storage.dataset.get()), H5Sclose);
  // A scalar has nothing to select from.
  const bool selected =
      H5Sget_simple_extent_ndims(file.get()) == 0 ||
      (H5Sselect_hyperslab(memory.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0 &&
       H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, place.origin.data(), nullptr, count.data(), nullptr) >=
           0);
  if (!selected || H5Dread(storage.dataset.get(), storage.type.get(), memory.get(), file.get(), H5P_DEFAULT,
                           bytes.data()) < 0)
    return Status::corruption("values cannot be read: " + hdf5_error());
  return Status::ok();
}

Result<std::vector<std::string>> Hdf5Source::read_strings(std::uint32_t variable) {
  constexpr hssize_t kStringsMax = 1 << 20U;
  const Hdf5Storage& storage = storage_[variable];
  const Handle space(H5Dget_space(storage.dataset.get()), H5Sclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (dataset_.variables[variable].type != ValueType::String || count < 0 || count > kStringsMax)
    return Status::invalid_argument("variable " + dataset_.variables[variable].name +
                                    " has no readable texts");
  std::vector<char*> strings(static_cast<std::size_t>(count), nullptr);
  if (count > 0 &&
      H5Dread(storage.dataset.get(), storage.type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, strings.data()) < 0)
    return Status::corruption("texts of variable " + dataset_.variables[variable].name +
                              " cannot be read: " + hdf5_error());
  std::vector<std::string> texts;
  for (const char* string : strings) texts.emplace_back(string == nullptr ? "" : string);
  H5Dvlen_reclaim(storage.type.get(), space.get(), H5P_DEFAULT, strings.data());
  return texts;
}

/// Files split by HDF5's multi and family drivers say so in the superblock. Source: HDF5 File Format
/// Specification, II.A, superblock versions 0 and 1: address of the driver information block.
Status refuse_split_file(int fd, std::uint64_t file_bytes) {
  std::byte superblock[60] = {};
  if (file_bytes < sizeof(superblock)) return Status::corruption("NetCDF-4 file is truncated");
  NVMDB_TRY(read_exactly(fd, 0, superblock, sizeof(superblock)));
  const auto version = static_cast<unsigned>(superblock[8]);
  if (version > 1 || superblock[13] != std::byte{8}) return Status::ok();
  std::uint64_t address = 0;
  std::memcpy(&address, superblock + (version == 0 ? 48 : 52), sizeof(address));
  if (address == UINT64_MAX) return Status::ok();
  return Status::invalid_argument("NetCDF-4 file is refused: it belongs to an HDF5 multi or family file");
}

}  // namespace

Result<std::unique_ptr<ValueSource>> open_hdf5(int fd, std::uint64_t file_bytes, const DecodeLimits& limits) {
  set_up_hdf5();
  NVMDB_TRY(refuse_split_file(fd, file_bytes));
  NVMDB_ASSIGN(Handle file, open_hdf5_file(fd, file_bytes));
  NVMDB_ASSIGN(Hdf5Metadata metadata, read_hdf5_metadata(file.get(), limits));
  return std::unique_ptr<ValueSource>(
      std::make_unique<Hdf5Source>(fd, file_bytes, std::move(file), std::move(metadata)));
}

}  // namespace nvmdb::ingest::netcdf
