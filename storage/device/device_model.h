#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/result.h"
#include "storage/device/device_profile.h"
#include "storage/device/tick_clock.h"

namespace nvmdb::storage {

/// Figures of a kind of device that this machine does not have, with where they come from.
struct DevicePreset {
  std::string_view name;
  std::string_view source;            ///< of the figures, in words
  std::uint32_t modules = 1;          ///< that the address range is interleaved over
  std::uint64_t interleave_bytes = 4096;
  std::uint64_t media_line_bytes = 256;  ///< smaller accesses cost a whole one
  std::uint64_t buffer_bytes = 0;        ///< of a module: writes wait only for what does not fit
  double random_read_ns = 0;
  double sequential_read_ns = 0;
  double write_ns = 0;  ///< non-temporal store and fence, up to the power-fail domain
  double flush_ns = 0;  ///< cached store, flush and fence
  double module_read_bytes_per_second = 0;
  double module_write_bytes_per_second = 0;
  double thread_read_bytes_per_second = 0;
  double thread_write_bytes_per_second = 0;
  /// Share of the write bandwidth that is left with one writer a module and with eight; linear in between.
  double efficiency_one_writer = 1;
  double efficiency_eight_writers = 1;
  std::uint32_t best_log_writers = 1;
  std::uint32_t best_readers = 1;
  std::uint32_t log_block_bytes = 4096;

  /// Share of the write bandwidth with so many writing threads in all.
  [[nodiscard]] double write_efficiency(std::uint32_t writers) const;
};

/// All presets: optane-6x128, nvdimm, cxl.
[[nodiscard]] std::span<const DevicePreset> device_presets();
/// Errors: InvalidArgument (names those there are).
[[nodiscard]] Result<DevicePreset> find_preset(std::string_view name);

/// What the machine's own memory takes for bytes behind the first line of a read, which is subtracted from what the
/// model asks.
struct MemoryBaseline {
  double read_bytes_per_second = 0;  ///< 0: nothing is subtracted
};
/// Measures it by reading all of `memory` in order, once to have it there, then for the figure.
[[nodiscard]] MemoryBaseline measure_baseline(ByteSpan memory, const TickClock& clock);

/// Delays that make memory behave like a preset: latency, bandwidth by direction, whole media lines, and write
/// concurrency beyond which it degrades. Each module is a server with a queue that all threads share.
///
/// Writes are charged when they are stored non-temporally or flushed, and waited for at the fence of the same
/// thread; a deadline counts from when the stores began, so the time that they took is not added. Reads load their
/// first line and wait for what the model asks beyond that. What is found in the processor's caches is delayed too:
/// the model cannot see them.
/// Threads: any number. Pairing: the modules' clocks are relaxed; they order nothing but delays.
class DeviceModel {
 public:
  DeviceModel(const DevicePreset& preset, const MemoryBaseline& baseline, const TickClock& clock);
  DeviceModel(const DeviceModel&) = delete;
  DeviceModel& operator=(const DeviceModel&) = delete;

  /// A store to the media of [address, address + bytes) begins. `flushed`: a cached store that is flushed.
  void begin_write(std::uint64_t address, std::uint64_t bytes, bool flushed);
  /// Waits until what this thread wrote before would be in the power-fail domain.
  void fence();
  /// Waits until the model has read, too, what the machine began to read at `begun_ns`: its first line was loaded
  /// since then, the rest is to be read when this returns.
  void read(std::uint64_t address, std::uint64_t bytes, std::uint64_t begun_ns);
  [[nodiscard]] std::uint64_t now_ns() const { return clock_.now_ns(); }

  [[nodiscard]] const DevicePreset& preset() const { return preset_; }
  /// `device` with the preset's figures, marked as modelled.
  [[nodiscard]] DeviceProfile profile(const DeviceProfile& device) const;
  [[nodiscard]] std::uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  /// Whole media lines; bytes_written() beside it is the write amplification.
  [[nodiscard]] std::uint64_t media_bytes_written() const { return media_written_.load(std::memory_order_relaxed); }

 private:
  struct ThreadState;
  /// A queue of a module: the time at which all that was given to it is done, in 1/64 ns.
  struct alignas(128) Queue {
    std::atomic<std::uint64_t> until{0};
  };

  [[nodiscard]] ThreadState& thread_state() const;
  /// Gives [first line, last line] of an access to the modules; returns when the last of them is done.
  [[nodiscard]] std::uint64_t charge(std::vector<Queue>& queues, std::uint64_t begin, std::uint64_t end,
                                     std::uint64_t now_ns, double bytes_per_second);

  const DevicePreset preset_;
  const MemoryBaseline baseline_;
  const TickClock& clock_;
  const std::uint64_t number_;  ///< of this model, never used again: key of the threads' states
  std::vector<Queue> writes_;
  std::vector<Queue> reads_;
  alignas(128) std::atomic<std::uint32_t> writers_{0};  ///< threads between a first write and its fence
  std::atomic<std::uint64_t> bytes_written_{0};
  std::atomic<std::uint64_t> media_written_{0};
};

}  // namespace nvmdb::storage
