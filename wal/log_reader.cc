#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "storage/nvm/root_words.h"
#include "wal/log.h"
#include "wal/log_chain.h"
#include "wal/log_format.h"
#include "wal/log_scan.h"

namespace nvmdb::wal {
namespace {

/// Reads the string of records that the blocks of one stream carry in one group.
class PartCursor {
 public:
  PartCursor(storage::PoolMedia& media, std::span<const BlockFound> blocks) : media_(media), blocks_(blocks) {
    for (const BlockFound& block : blocks) remaining_ += block.payload_bytes;
    open_block();
  }

  [[nodiscard]] std::uint64_t remaining() const { return remaining_; }
  /// The next `count` <= remaining() bytes: in place when one block has them all, else put together in
  /// `scratch`.
  [[nodiscard]] ByteSpan take(std::uint64_t count, Bytes& scratch) {
    remaining_ -= count;
    if (count <= rest_.size()) return advance(count);
    scratch.clear();
    scratch.reserve(count);
    while (scratch.size() < count) {
      const ByteSpan piece = advance(std::min<std::uint64_t>(count - scratch.size(), rest_.size()));
      scratch.insert(scratch.end(), piece.begin(), piece.end());
    }
    return scratch;
  }
  [[nodiscard]] std::string place() const {
    const BlockFound& block = blocks_[std::min(index_, blocks_.size() - 1)];
    return "region " + std::to_string(block.region) + " offset " + std::to_string(block.offset);
  }

 private:
  void open_block() {
    const BlockFound& block = blocks_[index_];
    rest_ = media_.region(block.region).bytes(block.offset + sizeof(BlockHeader), block.payload_bytes);
  }
  [[nodiscard]] ByteSpan advance(std::uint64_t count) {
    const ByteSpan piece = rest_.first(count);
    rest_ = rest_.subspan(count);
    if (rest_.empty() && ++index_ < blocks_.size()) open_block();
    return piece;
  }

  storage::PoolMedia& media_;
  std::span<const BlockFound> blocks_;
  std::size_t index_ = 0;
  ByteSpan rest_;
  std::uint64_t remaining_ = 0;
};

class LogReaderImpl final : public LogReader {
 public:
  LogReaderImpl(storage::PoolMedia& media, LogScan scan, LogChain chain)
      : media_(media), scan_(std::move(scan)), chain_(std::move(chain)) {
    horizon_.durable = chain_.durable;
    horizon_.highest_seen = chain_.highest_seen;
    horizon_.blocks = scan_.blocks.size();
    horizon_.discarded_blocks = chain_.discarded_blocks;
    for (const BlockFound& block : scan_.blocks) horizon_.bytes += sizeof(BlockHeader) + block.payload_bytes;
    for (const LogSegmentFound& segment : scan_.segments) {
      stream_count_ = std::max(stream_count_, segment.stream + 1);
      horizon_.highest_seen = std::max(horizon_.highest_seen, segment.highest);
    }
  }

  [[nodiscard]] const Horizon& horizon() const override { return horizon_; }
  [[nodiscard]] std::uint32_t stream_count() const override { return stream_count_; }
  [[nodiscard]] const std::vector<LogSegmentFound>& segments() const override { return scan_.segments; }
  [[nodiscard]] const std::vector<storage::PageId>& abandoned_pages() const override {
    return scan_.abandoned;
  }

  [[nodiscard]] Status for_each(std::uint32_t stream,
                                const std::function<Status(const LogRecord&)>& visit) const override {
    Bytes scratch;
    for (const GroupFound& group : chain_.groups) {
      const auto first = scan_.blocks.begin() + static_cast<std::ptrdiff_t>(group.first);
      const auto [low, high] = std::equal_range(
          first, first + static_cast<std::ptrdiff_t>(group.count), BlockFound{.stream = stream},
          [](const BlockFound& a, const BlockFound& b) { return a.stream < b.stream; });
      if (low != high) NVMDB_TRY(read_part({low, high}, group, visit, scratch));
    }
    return Status::ok();
  }

 private:
  [[nodiscard]] Status read_part(std::span<const BlockFound> blocks, const GroupFound& group,
                                 const std::function<Status(const LogRecord&)>& visit, Bytes& scratch) const {
    PartCursor cursor(media_, blocks);
    while (cursor.remaining() > 0) {
      RecordHeader header;
      if (cursor.remaining() < sizeof(header)) return damaged(cursor, "ends inside a record header");
      std::memcpy(&header, cursor.take(sizeof(header), scratch).data(), sizeof(header));
      const Tid tid{header.tid};
      if (header.reserved != 0 || tid.epoch().value > group.epoch)
        return damaged(cursor, "has an impossible record");
      if (header.payload_bytes > cursor.remaining()) return damaged(cursor, "ends inside a record");
      NVMDB_TRY(visit({tid, cursor.take(header.payload_bytes, scratch)}));
    }
    return Status::ok();
  }

  static Status damaged(const PartCursor& cursor, const std::string& what) {
    return Status::corruption("log: " + cursor.place() + ": block with a good checksum " + what);
  }

  storage::PoolMedia& media_;
  LogScan scan_;
  LogChain chain_;
  Horizon horizon_;
  std::uint32_t stream_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<LogReader>> LogReader::open(storage::PoolMedia& media,
                                                   const storage::PageAllocator& pages) {
  NVMDB_ASSIGN(const std::uint64_t checkpoint,
               storage::load_root_number(media.root_words(), storage::kCheckpointEpochWord));
  const Epoch covered{checkpoint};
  NVMDB_ASSIGN(LogScan scan, scan_log(media, pages, covered));
  sort_blocks(scan.blocks);
  NVMDB_ASSIGN(LogChain chain, follow_chain(scan.blocks, covered));
  return std::unique_ptr<LogReader>(
      std::make_unique<LogReaderImpl>(media, std::move(scan), std::move(chain)));
}

}  // namespace nvmdb::wal
