#include "storage/device/device_model.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "storage/base/check.h"

namespace nvmdb::storage {
namespace {

constexpr double kUnitsPerNs = 64;
constexpr std::uint64_t kCacheLineBytes = 64;

constexpr std::array<DevicePreset, 3> kPresets{{
    {.name = "optane-6x128",
     .source = "Optane DC persistent memory 100, six modules of 128 GB of one socket, interleaved. Random load 305 ns "
               "(arXiv 1903.05714), 39.4 and 13.9 GB/s of six modules, 6.6 and 2.3 GB/s of one, saturated by 17 "
               "readers and 4 writers (surveys of the same). Recalled, not checked: sequential load 169 ns, 90 and "
               "62 ns to the power-fail domain, efficiency 0.98 to 0.62 from 1 to 8 writers a module, buffer of 16 "
               "KiB (Yang et al., FAST 2020). Of one thread: the saturated bandwidth over the threads it takes.",
     .modules = 6,
     .interleave_bytes = 4096,
     .media_line_bytes = 256,
     .buffer_bytes = 16384,
     .random_read_ns = 305,
     .sequential_read_ns = 169,
     .write_ns = 90,
     .flush_ns = 62,
     .module_read_bytes_per_second = 6.6e9,
     .module_write_bytes_per_second = 2.3e9,
     .thread_read_bytes_per_second = 39.4e9 / 17,
     .thread_write_bytes_per_second = 13.9e9 / 4,
     .efficiency_one_writer = 0.98,
     .efficiency_eight_writers = 0.62,
     .best_log_writers = 4,
     .best_readers = 17,
     .log_block_bytes = 4096},
    {.name = "nvdimm",
     .source = "NVDIMM-N: DRAM with a flash copy at power loss, six modules of one socket. All recalled, not checked: "
               "load 101 ns random and 81 ns sequential as DRAM, DDR4-2666 at 80 % of 21.3 GB/s read and 60 % "
               "written, no degradation by concurrency.",
     .modules = 6,
     .interleave_bytes = 256,
     .media_line_bytes = 64,
     .buffer_bytes = 4096,
     .random_read_ns = 101,
     .sequential_read_ns = 81,
     .write_ns = 86,
     .flush_ns = 57,
     .module_read_bytes_per_second = 17.0e9,
     .module_write_bytes_per_second = 12.8e9,
     .thread_read_bytes_per_second = 12.0e9,
     .thread_write_bytes_per_second = 10.0e9,
     .best_log_writers = 6,
     .best_readers = 8,
     .log_block_bytes = 4096},
    {.name = "cxl",
     .source = "CXL type 3 memory with its own power, one device on eight PCIe 5 lanes. All recalled, not checked: "
               "load 170 to 300 ns, 32 GB/s raw of which 28 are read and 24 written, no degradation by concurrency.",
     .modules = 1,
     .interleave_bytes = 4096,
     .media_line_bytes = 64,
     .buffer_bytes = 4096,
     .random_read_ns = 250,
     .sequential_read_ns = 170,
     .write_ns = 180,
     .flush_ns = 180,
     .module_read_bytes_per_second = 28.0e9,
     .module_write_bytes_per_second = 24.0e9,
     .thread_read_bytes_per_second = 7.0e9,
     .thread_write_bytes_per_second = 8.0e9,
     .best_log_writers = 4,
     .best_readers = 4,
     .log_block_bytes = 4096},
}};

std::uint64_t units(double ns) {
  return static_cast<std::uint64_t>(ns * kUnitsPerNs);
}
std::uint64_t whole_ns(std::uint64_t in_units) {
  return in_units / static_cast<std::uint64_t>(kUnitsPerNs);
}
std::uint64_t rounded(double ns) {
  return ns <= 0 ? 0 : static_cast<std::uint64_t>(ns + 0.5);
}
double service_ns(std::uint64_t bytes, double bytes_per_second) {
  return static_cast<double>(bytes) * 1e9 / bytes_per_second;
}

}  // namespace

/// What a thread has under way in one model.
struct DeviceModel::ThreadState {
  std::uint64_t model = 0;
  bool writing = false;
  std::uint64_t write_ready_ns = 0;    ///< when the fence may return
  std::uint64_t issue_units = 0;       ///< when this thread has issued its writes at its own bandwidth
  std::uint64_t write_line_end = ~0ULL;  ///< end of the media line written last: it is still in the buffer
  std::uint64_t read_line_end = ~0ULL;
  std::uint64_t read_units = 0;
};

double DevicePreset::write_efficiency(std::uint32_t writers) const {
  const double per_module = static_cast<double>(writers) / modules;
  const double over = std::clamp((per_module - 1) / 7, 0.0, 1.0);
  return efficiency_one_writer + over * (efficiency_eight_writers - efficiency_one_writer);
}

std::span<const DevicePreset> device_presets() {
  return kPresets;
}

Result<DevicePreset> find_preset(std::string_view name) {
  std::string known;
  for (const DevicePreset& preset : kPresets) {
    if (preset.name == name) return preset;
    known += (known.empty() ? "" : ", ") + std::string(preset.name);
  }
  return Status::invalid_argument("device model \"" + std::string(name) + "\" is none of " + known);
}

MemoryBaseline measure_baseline(ByteSpan memory, const TickClock& clock) {
  const std::uint64_t lines = memory.size() / kCacheLineBytes;
  NVMDB_CHECK(lines > 0, "no memory to measure");
  MemoryBaseline baseline;
  for (int pass = 0; pass < 2; ++pass) {
    const std::uint64_t begin = clock.now_ns();
    std::uint64_t sum = 0;
    for (std::uint64_t line = 0; line < lines; ++line) {
      std::uint64_t word = 0;
      std::memcpy(&word, memory.data() + line * kCacheLineBytes, sizeof word);
      sum += word;
    }
    asm volatile("" : : "r"(sum));
    const double all = std::max(1.0, static_cast<double>(clock.now_ns() - begin));
    baseline.read_bytes_per_second = static_cast<double>(lines * kCacheLineBytes) * 1e9 / all;
  }
  return baseline;
}

DeviceModel::DeviceModel(const DevicePreset& preset, const MemoryBaseline& baseline, const TickClock& clock)
    : preset_(preset),
      baseline_(baseline),
      clock_(clock),
      number_([] {
        static std::atomic<std::uint64_t> last{0};
        return last.fetch_add(1, std::memory_order_relaxed) + 1;
      }()),
      writes_(preset.modules),
      reads_(preset.modules) {}

DeviceModel::ThreadState& DeviceModel::thread_state() const {
  thread_local std::vector<ThreadState> states;
  for (ThreadState& state : states) {
    if (state.model == number_) return state;
  }
  states.push_back({.model = number_});
  return states.back();
}

std::uint64_t DeviceModel::charge(std::vector<Queue>& queues, std::uint64_t begin, std::uint64_t end,
                                  std::uint64_t now_ns, double bytes_per_second) {
  const std::uint64_t now = now_ns * static_cast<std::uint64_t>(kUnitsPerNs);
  std::uint64_t last = now;
  while (begin < end) {
    const std::uint64_t stop = std::min(end, (begin / preset_.interleave_bytes + 1) * preset_.interleave_bytes);
    std::atomic<std::uint64_t>& until = queues[begin / preset_.interleave_bytes % preset_.modules].until;
    const std::uint64_t service = units(service_ns(stop - begin, bytes_per_second));
    std::uint64_t seen = until.load(std::memory_order_relaxed);
    std::uint64_t done = std::max(seen, now) + service;
    while (!until.compare_exchange_weak(seen, done, std::memory_order_relaxed)) done = std::max(seen, now) + service;
    last = std::max(last, done);
    begin = stop;
  }
  return last;
}

void DeviceModel::begin_write(std::uint64_t address, std::uint64_t bytes, bool flushed) {
  if (bytes == 0) return;
  ThreadState& state = thread_state();
  const std::uint64_t now = clock_.now_ns();
  if (!state.writing) {
    state.writing = true;
    state.write_ready_ns = now;
    state.issue_units = now * static_cast<std::uint64_t>(kUnitsPerNs);
    writers_.fetch_add(1, std::memory_order_relaxed);
  }
  const std::uint64_t line = preset_.media_line_bytes;
  std::uint64_t begin = address / line * line;
  const std::uint64_t end = align_up(address + bytes, line);
  // The line written last is still in the module's buffer: going on in it costs no second media write.
  if (begin + line == state.write_line_end) begin += line;
  state.write_line_end = end;
  const double rate =
      preset_.module_write_bytes_per_second * preset_.write_efficiency(writers_.load(std::memory_order_relaxed));
  const std::uint64_t drained = whole_ns(charge(writes_, begin, end, now, rate));
  const std::uint64_t buffered = rounded(service_ns(preset_.buffer_bytes, rate));
  state.issue_units += units(service_ns(bytes, preset_.thread_write_bytes_per_second));
  const std::uint64_t accepted = now + rounded(flushed ? preset_.flush_ns : preset_.write_ns);
  state.write_ready_ns = std::max({state.write_ready_ns, accepted, drained > buffered ? drained - buffered : 0,
                                   whole_ns(state.issue_units)});
  bytes_written_.fetch_add(bytes, std::memory_order_relaxed);
  media_written_.fetch_add(end - begin, std::memory_order_relaxed);
}

void DeviceModel::fence() {
  ThreadState& state = thread_state();
  if (!state.writing) return;
  clock_.wait_until(state.write_ready_ns);
  state.writing = false;
  writers_.fetch_sub(1, std::memory_order_relaxed);
}

void DeviceModel::read(std::uint64_t address, std::uint64_t bytes, std::uint64_t begun_ns) {
  if (bytes == 0) return;
  ThreadState& state = thread_state();
  const std::uint64_t line = preset_.media_line_bytes;
  const std::uint64_t begin = address / line * line;
  const std::uint64_t end = align_up(address + bytes, line);
  const bool sequential = begin == state.read_line_end || begin + line == state.read_line_end;
  const std::uint64_t fresh = begin + line == state.read_line_end ? begin + line : begin;
  state.read_line_end = end;
  const std::uint64_t drained =
      whole_ns(charge(reads_, fresh, end, begun_ns, preset_.module_read_bytes_per_second));
  const std::uint64_t from = std::max(state.read_units, begun_ns * static_cast<std::uint64_t>(kUnitsPerNs));
  state.read_units = from + units(service_ns(bytes, preset_.thread_read_bytes_per_second));
  const std::uint64_t latency =
      begun_ns + rounded(sequential ? preset_.sequential_read_ns : preset_.random_read_ns);
  const std::uint64_t asked = std::max({latency, drained, whole_ns(state.read_units)});
  const bool more = bytes > kCacheLineBytes && baseline_.read_bytes_per_second > 0;
  const std::uint64_t own =
      more ? rounded(service_ns(bytes - kCacheLineBytes, baseline_.read_bytes_per_second)) : 0;
  clock_.wait_until(asked - std::min(own, asked));
}

DeviceProfile DeviceModel::profile(const DeviceProfile& device) const {
  DeviceProfile modelled;
  modelled.kind = device.kind;
  modelled.durability = device.durability;
  modelled.write_unit_bytes = device.write_unit_bytes;
  modelled.best_log_writers = preset_.best_log_writers;
  modelled.log_block_bytes = std::max(device.write_unit_bytes, preset_.log_block_bytes);
  modelled.fence_cost_ns = rounded(preset_.write_ns);
  modelled.origin = ProfileOrigin::Modelled;
  modelled.model = preset_.name;
  modelled.best_readers = preset_.best_readers;
  modelled.read_latency_ns = preset_.random_read_ns;
  modelled.read_bytes_per_second = preset_.module_read_bytes_per_second * preset_.modules;
  modelled.write_bytes_per_second = preset_.module_write_bytes_per_second * preset_.modules;
  return modelled;
}

}  // namespace nvmdb::storage
