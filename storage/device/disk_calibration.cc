#include "storage/device/disk_calibration.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>

#include "storage/base/bytes.h"
#include "storage/base/narrow.h"
#include "storage/base/random.h"
#include "storage/device/tick_clock.h"
#include "storage/nvm/posix.h"

namespace nvmdb::storage {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20U;
constexpr std::size_t kAlignment = 4096;
constexpr std::uint64_t kOperationsMax = 256;

/// A buffer that O_DIRECT accepts, of the longest transfer.
class DirectBuffer {
 public:
  DirectBuffer() : bytes_(static_cast<std::byte*>(::operator new[](kMiB, std::align_val_t{kAlignment}))) {
    std::fill_n(bytes_.get(), kMiB, std::byte{0x5a});
  }
  [[nodiscard]] std::byte* data() const { return bytes_.get(); }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<std::byte[], Free> bytes_;
};

struct Samples {
  std::vector<double> nanoseconds;
  double total_ns = 0;
  void add(std::uint64_t ns) {
    nanoseconds.push_back(static_cast<double>(ns));
    total_ns += static_cast<double>(ns);
  }
  void into(DiskFigure& figure, std::uint64_t bytes) {
    std::sort(nanoseconds.begin(), nanoseconds.end());
    figure.bytes_per_second = static_cast<double>(bytes) * 1e9 / std::max(1.0, total_ns);
    figure.p50_ns = nanoseconds[nanoseconds.size() / 2];
    figure.p99_ns = nanoseconds[(nanoseconds.size() - 1) * 99 / 100];
  }
};

class DiskSweep {
 public:
  DiskSweep(std::filesystem::path directory, const DiskCalibrationOptions& options)
      : directory_(std::move(directory)), options_(options) {}

  Result<std::vector<DiskFigure>> run() {
    const std::vector<std::uint64_t> files =
        options_.quick ? std::vector<std::uint64_t>{kMiB} : std::vector<std::uint64_t>{kMiB, 16 * kMiB, 128 * kMiB};
    const std::vector<std::uint64_t> transfers =
        options_.quick ? std::vector<std::uint64_t>{65536} : std::vector<std::uint64_t>{4096, 65536, kMiB};
    total_ = files.size() * (1 + transfers.size() * 6);
    for (const std::uint64_t bytes : files) {
      NVMDB_TRY(write_file(bytes));
      for (const std::uint64_t transfer : transfers) {
        for (const char* pattern : {"sequential", "random"}) {
          NVMDB_TRY(read_file({"direct", "cold", pattern, bytes, transfer}));
          NVMDB_TRY(read_file({"buffered", "cold", pattern, bytes, transfer}));
          NVMDB_TRY(read_file({"buffered", "warm", pattern, bytes, transfer}));
        }
      }
    }
    return std::move(figures_);
  }

 private:
  void step() {
    if (options_.progress) options_.progress(++done_, total_);
  }
  [[nodiscard]] Status failed(const char* action) const {
    return errno_status(action, "calibration file in " + directory_.string(), errno);
  }

  Status write_file(std::uint64_t bytes) {
    file_ = FileDescriptor(::open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!file_.is_open()) return failed("create");
    DiskFigure figure{"write", "", "sequential", bytes, kMiB};
    Samples samples;
    for (std::uint64_t at = 0; at < bytes; at += kMiB) {
      const std::uint64_t begin = tsc_clock().now_ns();
      const ssize_t count = ::pwrite(file_.get(), buffer_.data(), kMiB, narrow<off_t>(at));
      if (count != narrow<ssize_t>(kMiB)) {
        if (count >= 0) errno = ENOSPC;
        return failed("write");
      }
      if (at + kMiB == bytes && ::fdatasync(file_.get()) != 0) return failed("sync");
      samples.add(tsc_clock().now_ns() - begin);
    }
    samples.into(figure, bytes);
    figures_.push_back(std::move(figure));
    // Past the page cache the same file is read through a second descriptor, where the file system can.
    direct_ = FileDescriptor(::open(("/proc/self/fd/" + std::to_string(file_.get())).c_str(),
                                    O_RDONLY | O_DIRECT | O_CLOEXEC));
    step();
    return Status::ok();
  }

  Status read_file(DiskFigure figure) {
    step();
    const bool direct = figure.access == "direct";
    const bool random = figure.pattern == "random";
    if ((direct && !direct_.is_open()) || figure.transfer_bytes > figure.file_bytes) return Status::ok();
    const int fd = direct ? direct_.get() : file_.get();
    (void)::posix_fadvise(fd, 0, 0, random ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL);
    if (figure.cache == "cold" && ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) return failed("drop");
    const std::uint64_t places = figure.file_bytes / figure.transfer_bytes;
    if (figure.cache == "warm") {
      for (std::uint64_t at = 0; at < figure.file_bytes; at += kMiB) NVMDB_TRY(read_at(fd, at, kMiB));
    }
    SeededRandom places_of(1);
    Samples samples;
    const std::uint64_t count = std::min(places, kOperationsMax);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t at = (random ? places_of.below(places) : i) * figure.transfer_bytes;
      const std::uint64_t begin = tsc_clock().now_ns();
      NVMDB_TRY(read_at(fd, at, figure.transfer_bytes));
      samples.add(tsc_clock().now_ns() - begin);
    }
    samples.into(figure, count * figure.transfer_bytes);
    figures_.push_back(std::move(figure));
    return Status::ok();
  }

  Status read_at(int fd, std::uint64_t at, std::uint64_t bytes) {
    for (std::uint64_t done = 0; done < bytes;) {
      const ssize_t count = ::pread(fd, buffer_.data() + done, bytes - done, narrow<off_t>(at + done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        if (count == 0) errno = EIO;
        return failed("read");
      }
      done += as_unsigned(count);
    }
    return Status::ok();
  }

  const std::filesystem::path directory_;
  const DiskCalibrationOptions& options_;
  const DirectBuffer buffer_;
  FileDescriptor file_;
  FileDescriptor direct_;
  std::vector<DiskFigure> figures_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace

Result<std::vector<DiskFigure>> calibrate_disk(const std::filesystem::path& directory,
                                               const DiskCalibrationOptions& options) {
  return DiskSweep(directory, options).run();
}

}  // namespace nvmdb::storage
