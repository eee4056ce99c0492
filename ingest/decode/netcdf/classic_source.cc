#include <sys/mman.h>

#include <algorithm>

#include "ingest/decode/netcdf/classic_header.h"
#include "ingest/decode/netcdf/value_source.h"

namespace nvmdb::ingest::netcdf {
namespace {

// Read-only windows of the page cache: large enough that mapping costs little, small beside the worker's limit.
constexpr std::uint64_t kWindowBytes = 8ULL << 20U;
constexpr std::uint64_t kMapAlignment = 4096;

/// A part of a file mapped into memory. A file that shrinks under it ends the process, as the worker may.
class FileWindow {
 public:
  FileWindow() = default;
  ~FileWindow() { unmap(); }
  FileWindow(const FileWindow&) = delete;
  FileWindow& operator=(const FileWindow&) = delete;

  /// Bytes [offset, offset + bytes) of the file, or nothing when they cannot be mapped.
  [[nodiscard]] std::span<const std::byte> bytes(int fd, std::uint64_t file_bytes, std::uint64_t offset,
                                                 std::uint64_t bytes) {
    if (offset > file_bytes || bytes > file_bytes - offset) return {};
    if (data_ == nullptr || offset < begin_ || offset + bytes > begin_ + size_) {
      unmap();
      const std::uint64_t begin = offset / kMapAlignment * kMapAlignment;
      const std::uint64_t size = std::min(std::max(offset - begin + bytes, kWindowBytes), file_bytes - begin);
      void* const at =
          ::mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, static_cast<off_t>(begin));
      if (at == MAP_FAILED) return {};
      data_ = static_cast<const std::byte*>(at);
      begin_ = begin;
      size_ = size;
    }
    return {data_ + (offset - begin_), static_cast<std::size_t>(bytes)};
  }

 private:
  void unmap() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
    data_ = nullptr;
  }

  const std::byte* data_ = nullptr;
  std::uint64_t begin_ = 0;
  std::uint64_t size_ = 0;
};

/// Values of a classic file, by arithmetic: they lie uncompressed at offsets that the header tells.
class ClassicSource final : public ValueSource {
 public:
  ClassicSource(int fd, std::uint64_t file_bytes, ClassicHeader header)
      : fd_(fd), file_bytes_(file_bytes), header_(std::move(header)) {
    dataset_ = std::move(header_.dataset);
  }

  [[nodiscard]] Status read(std::uint32_t variable, std::uint64_t first, std::span<std::byte> out) override {
    const std::uint64_t width = value_bytes(dataset_.variables[variable].type);
    const ClassicPlace& place = header_.places[variable];
    while (!out.empty()) {
      const std::uint64_t within = first % place.slab_elements;
      const std::uint64_t count = std::min<std::uint64_t>(out.size() / width, place.slab_elements - within);
      NVMDB_TRY(read_exactly(fd_, offset_of(variable, first), out.data(), count * width));
      out = out.subspan(count * width);
      first += count;
    }
    return Status::ok();
  }

  [[nodiscard]] std::span<const std::byte> view(std::uint32_t variable, std::uint64_t first,
                                                std::uint64_t bytes) override {
    const ClassicPlace& place = header_.places[variable];
    const std::uint64_t width = value_bytes(dataset_.variables[variable].type);
    const std::uint64_t together = (place.slab_elements - first % place.slab_elements) * width;
    return window_.bytes(fd_, file_bytes_, offset_of(variable, first), std::min(bytes, together));
  }

  [[nodiscard]] bool is_big_endian(std::uint32_t) const override { return true; }

  [[nodiscard]] Status check_present(std::uint32_t variable, std::uint64_t first,
                                     std::uint64_t count) const override {
    if (count == 0) return Status::ok();
    const std::uint64_t end =
        offset_of(variable, first + count - 1) + value_bytes(dataset_.variables[variable].type);
    if (end <= file_bytes_) return Status::ok();
    return Status::corruption("the file is truncated: it has " + std::to_string(file_bytes_) +
                              " bytes, variable " + dataset_.variables[variable].name + " needs " +
                              std::to_string(end));
  }

  [[nodiscard]] std::uint64_t frames_together(std::uint32_t) const override { return 1; }

  [[nodiscard]] Result<std::vector<std::string>> read_strings(std::uint32_t) override {
    return Status::invalid_argument("classic NetCDF has no string variables");
  }

  [[nodiscard]] std::uint64_t frames_max() const override {
    return header_.record_bytes == 0 ? 1 + file_bytes_ : 1 + file_bytes_ / header_.record_bytes;
  }

 private:
  [[nodiscard]] std::uint64_t offset_of(std::uint32_t variable, std::uint64_t element) const {
    const ClassicPlace& place = header_.places[variable];
    const std::uint64_t width = value_bytes(dataset_.variables[variable].type);
    if (!place.in_records) return place.begin + element * width;
    return place.begin + element / place.slab_elements * header_.record_bytes +
           element % place.slab_elements * width;
  }

  int fd_;
  std::uint64_t file_bytes_;
  ClassicHeader header_;
  FileWindow window_;
};

}  // namespace

Result<std::unique_ptr<ValueSource>> open_classic(int fd, std::uint64_t file_bytes) {
  NVMDB_ASSIGN(ClassicHeader header, read_classic_header(fd, file_bytes));
  return std::unique_ptr<ValueSource>(std::make_unique<ClassicSource>(fd, file_bytes, std::move(header)));
}

Status check_declared_size(const Dataset& dataset, std::uint64_t file_bytes, const DecodeLimits& limits) {
  constexpr std::uint64_t kAlwaysAllowed = 64ULL << 20U;
  std::uint64_t declared = 0;
  for (const Variable& variable : dataset.variables) {
    std::uint64_t bytes = value_bytes(variable.type);
    for (const std::uint32_t dimension : variable.dimensions) {
      if (!multiply_sizes(bytes, dataset.dimensions[dimension].size))
        return Status::invalid_argument("variable " + variable.name + " declares more than 2^62 bytes");
    }
    if (__builtin_add_overflow(declared, bytes, &declared))
      return Status::invalid_argument("the variables declare more than 2^64 bytes");
  }
  if (declared > kAlwaysAllowed && declared / limits.declared_ratio_max > file_bytes)
    return Status::invalid_argument("the file declares " + std::to_string(declared) +
                                    " bytes of values but has only " + std::to_string(file_bytes) +
                                    " bytes: more than " + std::to_string(limits.declared_ratio_max) +
                                    " times as much is refused");
  return Status::ok();
}

}  // namespace nvmdb::ingest::netcdf
