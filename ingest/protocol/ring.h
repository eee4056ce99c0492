#pragma once

#include <cstddef>
#include <cstdint>

namespace nvmdb::ingest::protocol {

/// The ring is a sealed memfd that the server makes once per worker: the worker writes it, the server maps it
/// for reading only. Positions count bytes since the worker started and never wrap; a byte lies at position %
/// kRingBytes. A piece never crosses the end of the ring. Small enough to stay in the processor's cache.
constexpr std::uint64_t kRingBytes = 4ULL << 20U;
constexpr std::uint64_t kPieceBytesMax = 512ULL << 10U;
/// What FieldSink::space() promises when so much is wanted.
constexpr std::uint64_t kPieceBytesMin = 256ULL << 10U;
constexpr std::uint64_t kPieceAlignment = 64;
/// The server gives back space when this much was consumed: so seldom that unread credits cannot fill the
/// socket, and so early that a worker whose pieces are all consumed never waits.
constexpr std::uint64_t kCreditBytes = kRingBytes / 4;
static_assert(kCreditBytes + 2 * kPieceBytesMax <= kRingBytes);

constexpr std::size_t kPacketBytesMax = 64U << 10U;
/// A packet is sent when its messages or the pieces it tells of reach these sizes.
constexpr std::size_t kPacketBytesFlush = 32U << 10U;
constexpr std::uint64_t kPieceBytesFlush = 1024ULL << 10U;

}  // namespace nvmdb::ingest::protocol
