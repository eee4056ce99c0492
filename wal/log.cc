#include "wal/log.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/fail_point.h"
#include "storage/base/narrow.h"
#include "storage/base/size_text.h"
#include "storage/nvm/root_words.h"
#include "wal/appender.h"
#include "wal/log_impl.h"
#include "wal/null_log.h"

namespace nvmdb::wal {
namespace {

using storage::kPageBytes;

constexpr std::uint64_t kRingBytesMin = 4096;
constexpr std::uint64_t kRingBytesMax = 1ULL << 30U;
constexpr std::uint64_t kSessionsMax = 1ULL << 32U;

Status check_options(const LogOptions& options, std::uint32_t unit_bytes) {
  const auto bad = [](const std::string& what) { return Status::invalid_argument("log options: " + what); };
  if (options.streams == 0 || options.streams > kMaxStreams) {
    return bad("streams is " + std::to_string(options.streams) + ", expected 1 to " +
               std::to_string(kMaxStreams));
  }
  if (options.log_bytes_max < options.streams * kPageBytes) {
    return bad("log_bytes_max is " + format_size(options.log_bytes_max) + ", expected at least " +
               format_size(kPageBytes) + " per stream");
  }
  if (options.ring_bytes > kRingBytesMax) {
    return bad("ring_bytes is " + format_size(options.ring_bytes) + ", expected at most " +
               format_size(kRingBytesMax));
  }
  if (options.epoch_interval_us == 0) return bad("epoch_interval_us is 0");
  if (!std::has_single_bit(unit_bytes) || unit_bytes <= sizeof(BlockHeader) || unit_bytes > kPageBytes / 4) {
    return bad("the device's write unit of " + std::to_string(unit_bytes) + " bytes is not usable");
  }
  return Status::ok();
}

LogSpace::Shape shape_of(const LogOptions& options, std::uint32_t unit_bytes, std::uint64_t session) {
  const std::uint64_t whole = options.block_bytes_max / unit_bytes * unit_bytes;
  return {.streams = options.streams,
          .unit_bytes = unit_bytes,
          .block_bytes = std::clamp<std::uint64_t>(whole, unit_bytes, kPageBytes / 4),
          .log_bytes_max = options.log_bytes_max,
          .session = session};
}

/// Takes a number that no session of the pool had, for good.
Result<std::uint64_t> next_session(storage::PoolMedia& media) {
  storage::Door& root = media.root_words();
  NVMDB_ASSIGN(const std::uint64_t last, storage::load_root_number(root, storage::kLogSessionWord));
  const std::uint64_t session = last + 1;
  if (session >= kSessionsMax) {
    return Status::corruption("root word " + std::to_string(storage::kLogSessionWord) + ": log session " +
                              std::to_string(session) + " is out of range");
  }
  storage::store_root_number(root, storage::kLogSessionWord, session);
  NVMDB_FAIL_POINT_TRY("wal.session");
  // With all the words of the line: the opening of the database stored some of them.
  root.flush(0, storage::kOpenWordsBytes);
  NVMDB_TRY(root.fence());
  return session;
}

}  // namespace

void fit_to_device(LogOptions& options, const storage::DeviceProfile& device) {
  const std::uint64_t most = std::min<std::uint64_t>(kMaxStreams, options.log_bytes_max / (2 * kPageBytes));
  options.streams =
      narrow<std::uint32_t>(std::clamp<std::uint64_t>(device.best_log_writers, 1, std::max<std::uint64_t>(1, most)));
  options.block_bytes_max = device.log_block_bytes;
}

Result<std::unique_ptr<Log>> Log::start(storage::PoolMedia& media, storage::PageAllocator& pages,
                                        EpochClock& clock, const LogOptions& options,
                                        const LogReader* recovered) {
  const std::uint32_t unit_bytes = media.device().write_unit_bytes;
  NVMDB_TRY(check_options(options, unit_bytes));
  std::unique_ptr<LogReader> own;
  if (recovered == nullptr) {
    NVMDB_ASSIGN(own, LogReader::open(media, pages));
    recovered = own.get();
  }
  const LogReader::Horizon& horizon = recovered->horizon();
  if (clock.current() <= horizon.highest_seen) {
    return Status::invalid_argument(
        "log start: the epoch clock is at " + std::to_string(clock.current().value) +
        ", but the log holds epochs up to " + std::to_string(horizon.highest_seen.value));
  }
  NVMDB_ASSIGN(const std::uint64_t session, next_session(media));
  if (options.off) {
    if (!recovered->segments().empty()) {
      return Status::invalid_argument("the pool has a log; without one it can be used only before its first commit");
    }
    return std::unique_ptr<Log>(std::make_unique<NullLog>(clock, options));
  }
  const LogSpace::Shape shape = shape_of(options, unit_bytes, session);
  auto counters = std::make_unique<LogCounters>();
  auto space = std::make_unique<LogSpace>(media, pages, *counters, shape);
  NVMDB_TRY(space->adopt(*recovered));
  return std::unique_ptr<Log>(std::make_unique<LogImpl>(media, clock, options, shape, std::move(counters),
                                                        std::move(space),
                                                        LogImpl::Origin{horizon.durable, clock.current()}));
}

LogImpl::LogImpl(storage::PoolMedia& media, EpochClock& clock, const LogOptions& options,
                 const LogSpace::Shape& shape, std::unique_ptr<LogCounters> counters,
                 std::unique_ptr<LogSpace> space, const Origin& origin)
    : clock_(clock),
      media_(media),
      options_(options),
      counters_(std::move(counters)),
      space_(std::move(space)),
      previous_(origin.horizon),
      durable_(origin.first_current.value - 1) {
  for (std::uint32_t i = 0; i < options_.streams; ++i) {
    streams_.push_back(std::make_unique<Stream>(media, *space_, *counters_, shape, i, options_.planted_bug));
  }
  if (options_.writer_threads) start_threads();
}

LogImpl::~LogImpl() {
  flusher_.reset();
  writers_.reset();
}

Result<std::unique_ptr<Log::Appender>> LogImpl::new_appender() {
  const std::uint32_t number = appenders_made_.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t index = number % options_.streams;
  Stream& stream = *streams_[index];
  const MutexLock lock(stream.mutex);
  const auto idle =
      std::find_if(stream.slots.begin(), stream.slots.end(), [](const auto& s) { return !s->used; });
  if (idle != stream.slots.end()) {
    (*idle)->used = true;
    return std::unique_ptr<Appender>(std::make_unique<RingAppender>(*this, index, **idle));
  }
  if (stream.slots.size() >= EpochClock::kMaxSlots) {
    return Status::overloaded("log: stream " + std::to_string(index) + " has " +
                              std::to_string(stream.slots.size()) + " appenders, the most there can be");
  }
  const std::uint64_t ring_bytes = std::bit_ceil(std::max(options_.ring_bytes, kRingBytesMin));
  stream.slots.push_back(std::make_unique<RingSlot>(ring_bytes));
  return std::unique_ptr<Appender>(std::make_unique<RingAppender>(*this, index, *stream.slots.back()));
}

void LogImpl::return_slot(std::uint32_t stream, RingSlot& slot) {
  const MutexLock lock(streams_[stream]->mutex);
  slot.used = false;
}

Status LogImpl::failure() const {
  const MutexLock lock(failure_mutex_);
  return failure_;
}

void LogImpl::fail(const Status& status) {
  const MutexLock lock(failure_mutex_);
  if (failure_.is_ok()) failure_ = {Code::IoError, "the log stopped: " + status.message()};
  failed_.store(true, std::memory_order_release);
}

Result<std::uint64_t> LogImpl::release_through(Epoch epoch) {
  NVMDB_ASSIGN(const std::uint64_t covered,
               storage::load_root_number(media_.root_words(), storage::kCheckpointEpochWord));
  if (epoch.value > covered) {
    return Status::invalid_argument("log release through epoch " + std::to_string(epoch.value) +
                                    ", but checkpoints cover only " + std::to_string(covered));
  }
  return space_->release_through(epoch);
}

LogStatistics LogImpl::statistics() const {
  const std::uint64_t segments = space_->segment_count();
  return {.records = LogCounters::read(counters_->records),
          .payload_bytes = LogCounters::read(counters_->payload_bytes),
          .media_bytes = LogCounters::read(counters_->media_bytes),
          .blocks = LogCounters::read(counters_->blocks),
          .fences = LogCounters::read(counters_->fences),
          .epochs_closed = LogCounters::read(counters_->epochs_closed),
          .segments = segments,
          .log_bytes = segments * kPageBytes,
          .log_bytes_max = options_.log_bytes_max};
}

}  // namespace nvmdb::wal
